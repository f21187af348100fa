/** Where the price curve draws its steps, ticks and the present time. Positions are shares from 0 to 1. */

import { roundSteps } from "./scale.js";
import { instantOf, localTime } from "./zone-days.js";

/** @import { PriceCurve } from "./price-curve.js" */

/**
 * A step of the curve. `low` and `high` are heights; a step without a price has none. `isNegative` steps hang from zero.
 * @typedef {{ from: number, to: number, low: number | null, high: number | null, isNegative: boolean }} StepBox
 */

/** @typedef {{ at: number, value: number }} Gridline */
/** @typedef {{ at: number, instant: number, minor: boolean }} HourTick */

/**
 * @typedef {object} CurveLayout
 * @property {StepBox[]} boxes  One for each step.
 * @property {Gridline[]} gridlines  From the bottom up, with their prices.
 * @property {HourTick[]} hours
 * @property {number | null} now  Null if the curve does not cover the present.
 * @property {number | null} tomorrow  Where tomorrow starts. Null if only today is shown.
 */

const HOUR = 3_600_000;
const HOURS_BETWEEN_TICKS = 3;

/**
 * Return the layout of a curve. Widths follow elapsed time, so a day of 25 hours is wider than one of 23 hours.
 * @param {PriceCurve} curve
 * @param {number} now
 * @param {string} timeZone
 * @returns {CurveLayout}
 */
export function layOutCurve({ steps, start, tomorrow, end }, now, timeZone) {
  const values = axisValues(steps.flatMap(({ rate }) => (rate === null ? [] : [rate])));
  const [bottom, top] = [values[0], values[values.length - 1]];
  /** @param {number} instant */
  const across = (instant) => (instant - start) / (end - start);
  /** @param {number} value */
  const up = (value) => (value - bottom) / (top - bottom);
  return {
    boxes: steps.map(({ start: from, end: to, rate }) => ({
      from: across(from),
      to: across(to),
      low: rate === null ? null : up(Math.min(rate, 0)),
      high: rate === null ? null : up(Math.max(rate, 0)),
      isNegative: rate !== null && rate < 0,
    })),
    gridlines: values.map((value) => ({ at: up(value), value })),
    hours: hourTicks(start, end, timeZone).map((tick) => ({ ...tick, at: across(tick.instant) })),
    now: now >= start && now < end ? across(now) : null,
    tomorrow: tomorrow < end ? across(tomorrow) : null,
  };
}

/**
 * Return the values of the axis: round steps from the lowest price to the highest one, with zero among them.
 * @param {number[]} rates
 * @returns {number[]}
 */
export function axisValues(rates) {
  const [low, high] = [Math.min(0, ...rates), Math.max(0, ...rates)];
  const step = roundSteps(high - low)[1];
  const first = Math.floor(precise(low / step));
  const last = Math.max(Math.ceil(precise(high / step)), first + 1);
  return Array.from({ length: last - first + 1 }, (_, index) => precise((first + index) * step));
}

/**
 * Return a number without the error of floats: 0.6 / 0.2 is 3, so that no step is added.
 * @param {number} value
 */
function precise(value) {
  return Number(value.toPrecision(12));
}

/**
 * Return the instants at which clocks show multiples of three hours. A minor tick is hidden where there is little room.
 * @param {number} start
 * @param {number} end
 * @param {string} timeZone
 */
function hourTicks(start, end, timeZone) {
  const ticks = [];
  const last = localTime(end, timeZone);
  for (let local = localTime(start, timeZone); local < last; local += HOURS_BETWEEN_TICKS * HOUR) {
    const instant = instantOf(local, timeZone);
    ticks.push({ instant, minor: new Date(local).getUTCHours() % (2 * HOURS_BETWEEN_TICKS) !== 0 });
  }
  return ticks;
}
