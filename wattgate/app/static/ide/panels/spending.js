/** The cost of an operation beside the budget of the caller, in numbers and in words. */

import { formatCount } from "../../shared/quantities.js";

/** @typedef {{ estimated: number, remaining?: number, limit?: number, reset?: number, window?: number | null }} Cost */

/** An interval of polling. `budget` is the share of the budget that it uses, null if the budget is not known. @typedef {{ label: string, seconds: number, units: number, budget: number | null }} Polling */

const HOUR = 3600;
/** Intervals at which apps ask again. */
const INTERVALS = /** @type {[string, number][]} */ ([["10 s", 10], ["1 min", 60], ["15 min", 900]]);

/**
 * Return what an operation costs in an hour if a client repeats it.
 * @param {Cost} cost
 * @param {number | null} seconds  In which the budget refills, from the header RateLimit-Policy.
 * @returns {Polling[]}
 */
export function pollingCosts({ estimated, limit }, seconds) {
  const hourly = limit && seconds ? (limit * HOUR) / seconds : null;
  return INTERVALS.map(([label, interval]) => {
    const units = Math.round((estimated * HOUR) / interval);
    return { label, seconds: interval, units, budget: hourly === null ? null : units / hourly };
  });
}

/**
 * Return the budget in words.
 * @param {Cost} cost
 * @returns {string}
 */
export function describeBudget({ estimated, remaining, limit, reset }) {
  if (remaining === undefined || !limit) return "This caller has no budget of its own.";
  const full = reset ? ` It is full in ${formatSeconds(reset)}.` : "";
  const runs = estimated > 0 ? Math.floor(remaining / estimated) : 0;
  const enough = estimated > remaining ? "Too little for this operation." : `Enough for ${formatCount(runs)} runs at once.`;
  return `${formatCount(remaining)} of ${formatCount(limit)} units left. ${enough}${full}`;
}

/**
 * Return a share as a percentage, with digits for small ones.
 * @param {number} share
 * @returns {string}
 */
export function formatShare(share) {
  const percent = share * 100;
  if (percent > 0 && percent < 0.1) return "less than 0.1 %";
  return `${percent < 10 ? percent.toFixed(1) : formatCount(Math.round(percent))} %`;
}

/** @param {number} seconds */
function formatSeconds(seconds) {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / HOUR)} h`;
}
