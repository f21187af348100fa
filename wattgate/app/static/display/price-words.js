/** The price curve in words: its steps, its cheapest slot and the prices that are not known yet. */

import { NOTHING, formatRate } from "./format.js";
import { text } from "./texts.js";

/** @import { WallClock } from "./format.js" */
/** @import { PriceCurve, PriceStep } from "./price-curve.js" */

/**
 * Return the name of a step: its day, unless it is today, and its times.
 * @param {{ start: number, end: number }} span
 * @param {PriceCurve} curve
 * @param {WallClock} wallClock
 * @returns {string}
 */
export function spanText({ start, end }, { tomorrow }, wallClock) {
  const hours = text("time.hourRange", { start: timeText(start, wallClock), end: timeText(end, wallClock) });
  return text(start < tomorrow ? "prices.todayAt" : "prices.tomorrowAt", { time: hours });
}

/**
 * Return a step for screen readers.
 * @param {PriceStep} step
 * @param {PriceCurve} curve
 * @param {WallClock} wallClock
 * @returns {string}
 */
export function stepText(step, curve, wallClock) {
  const rate = step.rate === null ? text("prices.unknown") : formatRate(step.rate);
  return text("prices.step", { time: spanText(step, curve, wallClock), rate });
}

/**
 * Return the cheapest slot in words. Empty if there is none.
 * @param {{ start: number, end: number, rate: number } | null} slot
 * @param {PriceCurve} curve
 * @param {WallClock} wallClock
 * @param {number} now
 * @returns {string}
 */
export function cheapestText(slot, curve, wallClock, now) {
  if (!slot) return "";
  const rate = formatRate(slot.rate);
  if (slot.start <= now) return text("prices.cheapestNow", { rate, time: timeText(slot.end, wallClock) });
  const key = slot.start < curve.tomorrow ? "prices.cheapestToday" : "prices.cheapestTomorrow";
  return text(key, { rate, start: timeText(slot.start, wallClock), end: timeText(slot.end, wallClock) });
}

/**
 * Return which prices of tomorrow are not known. Empty if all of them are.
 * @param {PriceCurve} curve
 * @returns {string}
 */
export function tomorrowText({ tomorrowKnown, isDynamic }) {
  if (tomorrowKnown === "all") return "";
  if (tomorrowKnown === "part") return text("prices.tomorrowPart");
  return text(isDynamic ? "prices.tomorrowLater" : "prices.tomorrowUnknown");
}

/**
 * Return what a selected step costs, or a dash if it is not known.
 * @param {PriceStep | undefined} step
 * @returns {string}
 */
export function rateText(step) {
  return step ? formatRate(step.rate) : NOTHING;
}

/**
 * @param {number} instant
 * @param {WallClock} wallClock
 */
function timeText(instant, wallClock) {
  return wallClock.format("minutes", instant);
}
