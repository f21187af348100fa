/** Names of the buckets of the history: in full, and as short labels below the bars. */

import { text } from "./texts.js";

/** @import { Tick } from "./bar-chart.js" */
/** @import { TimeForm, WallClock } from "./format.js" */
/** @import { ViewName } from "./history.js" */

/**
 * A bucket's times, in milliseconds since 1970.
 * @typedef {{ start: number, end: number }} Bucket
 */

/**
 * Return the full name of a bucket, for the readout and for screen readers.
 * @param {ViewName} view
 * @param {Bucket} bucket
 * @param {WallClock} wallClock
 * @returns {string}
 */
export function bucketName(view, { start, end }, wallClock) {
  switch (view) {
    case "hours":
      return text("time.hourRange", range("minutes", start, end, wallClock));
    case "days":
      return wallClock.format("date", start);
    case "weeks":
      return text("time.dayRange", range("dayOfMonth", start, end - 1, wallClock));
    default:
      return wallClock.format("monthOfYear", start);
  }
}

/**
 * Return the label below a bucket's bar, or null if it has none.
 * @param {ViewName} view
 * @param {Bucket} bucket
 * @param {WallClock} wallClock
 * @param {number} now
 * @returns {Tick | null}
 */
export function bucketTick(view, { start, end }, wallClock, now) {
  switch (view) {
    case "hours": {
      const { hour } = wallClock.numbers(start);
      return hour % 3 === 0 ? { label: wallClock.format("minutes", start), minor: hour % 6 !== 0 } : null;
    }
    case "days":
      return { label: now < end ? text("view.currentDay") : wallClock.format("weekday", start), minor: false };
    case "weeks":
      return { label: now < end ? text("view.currentWeek") : wallClock.format("dayOfMonth", start), minor: false };
    default:
      return monthTick(start, wallClock);
  }
}

/**
 * @param {number} start
 * @param {WallClock} wallClock
 */
function monthTick(start, wallClock) {
  const { month } = wallClock.numbers(start);
  return { label: wallClock.format(month === 1 ? "year" : "month", start), minor: month % 2 === 0 };
}

/**
 * @param {TimeForm} form
 * @param {number} first
 * @param {number} last
 * @param {WallClock} wallClock
 */
function range(form, first, last, wallClock) {
  return { start: wallClock.format(form, first), end: wallClock.format(form, last) };
}
