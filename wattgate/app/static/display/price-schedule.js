/**
 * When the page reads prices: once a day, after a change of the tariff or of the cheapest slot, and every half hour while
 * prices of tomorrow are missing.
 */

import { startOfDay } from "./zone-days.js";

/** @import { PriceCurve } from "./price-curve.js" */
/** @import { Frame } from "./subscription.js" */

/**
 * The last reading of prices: its time, the tariff that the frame had, and the curve.
 * @typedef {{ at: number, tariff: string, curve: PriceCurve | null }} PriceReading
 */

const MINUTE = 60_000;
/** Suppliers publish the prices of tomorrow once, in the afternoon. */
const AWAITING_INTERVAL = 30 * MINUTE;

/**
 * Return a text that identifies the prices of a frame. Null if the price does not depend on time, as far as is known.
 * The cheapest slot usually changes when prices of tomorrow arrive.
 * @param {Pick<Frame, "tariff" | "cheapest">} frame
 * @returns {string | null}
 */
export function tariffKey({ tariff, cheapest }) {
  return tariff?.until ? [tariff.name, tariff.standingChargeWithVat.amount, cheapest?.start, cheapest?.rateWithVat.amount].join(" ") : null;
}

/**
 * Return whether the prices must be read at an instant.
 * @param {PriceReading | null} last
 * @param {string} key  Of the current frame.
 * @param {number} now
 * @param {string} timeZone
 * @returns {boolean}
 */
export function isReadingDue(last, key, now, timeZone) {
  if (!last || last.tariff !== key || startOfDay(now, timeZone) !== startOfDay(last.at, timeZone)) return true;
  const isAwaiting = last.curve?.isDynamic && last.curve.tomorrowKnown !== "all";
  return Boolean(isAwaiting) && now - last.at >= AWAITING_INTERVAL;
}
