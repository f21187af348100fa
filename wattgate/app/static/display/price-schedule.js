/** When the page reads prices: once a day, after a change of the tariff, and while prices of tomorrow are awaited. */

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
 * Return what identifies the prices that a frame knows. Null if its price does not depend on time, as far as is known.
 * @param {Pick<Frame, "tariff">} frame
 * @returns {string | null}
 */
export function tariffKey({ tariff }) {
  return tariff?.until ? `${tariff.name} ${tariff.standingCharge}` : null;
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
