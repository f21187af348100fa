/** The axis of a chart: round steps from zero to above the greatest value. */

const STEPS = 3;
const ROUND = [1, 2, 2.5, 5, 10];

export function roundSteps(greatest) {
  if (!(greatest > 0)) return [0, 1];
  const magnitude = 10 ** Math.floor(Math.log10(greatest / STEPS));
  const step = ROUND.find((round) => round * magnitude * STEPS >= greatest) * magnitude;
  const count = Math.ceil(greatest / step);
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}
