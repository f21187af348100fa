/** The headers of a response that say how much a caller may still send. */

/** @typedef {{ remaining: number | null, reset: number | null, limit: number | null, window: number | null }} RateLimit */

/**
 * Return the budget that is left, the seconds until it is full, its size, and the seconds in which it refills. A part that
 * the headers do not have is null.
 * @param {string | null | undefined} rateLimit  The header `RateLimit`.
 * @param {string | null | undefined} policy  The header `RateLimit-Policy`.
 * @returns {RateLimit}
 */
export function readRateLimit(rateLimit, policy) {
  return {
    remaining: numberOf(rateLimit, "r"),
    reset: numberOf(rateLimit, "t"),
    limit: numberOf(policy, "q"),
    window: numberOf(policy, "w"),
  };
}

/**
 * @param {string | null | undefined} header
 * @param {string} name
 */
function numberOf(header, name) {
  const found = new RegExp(`;\\s*${name}=(\\d+)`).exec(header ?? "");
  return found ? Number(found[1]) : null;
}
