/** The axis of a chart: round steps from zero to above the maximum value. */

const STEPS = 3;
const ROUND_FACTORS = [1, 2, 2.5, 5, 10];

export function roundSteps(maximum) {
  if (!(maximum > 0)) return [0, 1];
  const magnitude = 10 ** Math.floor(Math.log10(maximum / STEPS));
  const step = ROUND_FACTORS.find((round) => round * magnitude * STEPS >= maximum) * magnitude;
  const count = Math.ceil(maximum / step);
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}
