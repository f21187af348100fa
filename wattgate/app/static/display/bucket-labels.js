/** Names of the buckets of the history: in full, and as short labels below the bars. */

/** @import { Tick } from "./bar-chart.js" */
/** @import { WallClock } from "./format.js" */
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
      return `${wallClock.format("minutes", start)} to ${wallClock.format("minutes", end)}`;
    case "days":
      return wallClock.format("date", start);
    case "weeks":
      return `${wallClock.format("dayOfMonth", start)} to ${wallClock.format("dayOfMonth", end - 1)}`;
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
      const label = wallClock.format("minutes", start);
      const hour = Number.parseInt(label, 10);
      return hour % 3 === 0 ? { label, minor: hour % 6 !== 0 } : null;
    }
    case "days":
      return { label: now < end ? "Today" : wallClock.format("weekday", start), minor: false };
    case "weeks":
      return { label: now < end ? "This week" : wallClock.format("dayOfMonth", start), minor: false };
    default:
      return monthTick(start, wallClock);
  }
}

/**
 * @param {number} start
 * @param {WallClock} wallClock
 */
function monthTick(start, wallClock) {
  const label = wallClock.format("month", start);
  const number = Number.parseInt(wallClock.format("monthNumber", start), 10);
  return { label: number === 1 ? wallClock.format("year", start) : label, minor: number % 2 === 0 };
}
