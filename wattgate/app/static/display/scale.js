/** The scale of a chart's axis. */

const MAX_STEPS = 3;
const ROUND_FACTORS = [1, 2, 2.5, 5, 10];

/**
 * Return equal round steps from zero to at least the maximum. Without a positive maximum, return 0 and 1.
 * @param {number} maximum
 * @returns {number[]}
 */
export function roundSteps(maximum) {
  if (!(maximum > 0)) return [0, 1];
  const magnitude = 10 ** Math.floor(Math.log10(maximum / MAX_STEPS));
  const factor = ROUND_FACTORS.find((round) => round * magnitude * MAX_STEPS >= maximum) ?? 10;
  const step = factor * magnitude;
  const count = Math.ceil(maximum / step);
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}
