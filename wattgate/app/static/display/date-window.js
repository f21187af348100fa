/** The range of time that the history shows: the newest one, or an earlier one. Instants are milliseconds since 1970. */

import { VIEWS } from "./history.js";
import { sameTimeOn, startOfDay, startOfMonth } from "./zone-days.js";

/** @import { ViewName } from "./history.js" */

/**
 * A range of the history. `count` is how many buckets it shows, Infinity for all that it has. `before` is the range that
 * it is compared with: the same days or hours a week earlier. Null if the view has no comparison.
 * @typedef {object} HistoryWindow
 * @property {number} start
 * @property {number} end
 * @property {number} count
 * @property {{ start: number, end: number } | null} before
 */

const DAYS_OF_WEEK = 7;
const DAYS_OF_FOUR_WEEKS = 28;
const MONTHS_OF_YEAR = 12;

/**
 * Return the range of a view, some steps before the newest one. A step is a day, a week, four weeks or a year, so that
 * weekdays and months keep their places. The range of an earlier day is the whole day, which may have 23 or 25 hours.
 * @param {ViewName} view
 * @param {number} steps
 * @param {number} now
 * @param {string} timeZone
 * @returns {HistoryWindow}
 */
export function historyWindow(view, steps, now, timeZone) {
  const { count, lookback } = VIEWS[view];
  if (steps === 0) return withBaseline(view, { start: now - lookback, end: now, count }, timeZone);
  /** @param {number} days */
  const day = (days) => startOfDay(now, timeZone, days);
  /** @param {number} months */
  const month = (months) => startOfMonth(now, timeZone, months);
  switch (view) {
    case "hours":
      return withBaseline(view, { start: day(-steps), end: day(1 - steps), count: Infinity }, timeZone);
    case "days": {
      const last = -steps * DAYS_OF_WEEK;
      return withBaseline(view, { start: day(last - DAYS_OF_WEEK), end: day(last + 1), count }, timeZone);
    }
    case "weeks": {
      const last = -steps * DAYS_OF_FOUR_WEEKS;
      return { start: day(last - DAYS_OF_FOUR_WEEKS), end: day(last + 1), count, before: null };
    }
    default: {
      const last = -steps * MONTHS_OF_YEAR;
      return { start: month(last - MONTHS_OF_YEAR), end: month(last + 1), count, before: null };
    }
  }
}

/**
 * Return whether there are readings before the range that a view shows.
 * @param {ViewName} view
 * @param {number} steps  Of the present range.
 * @param {number | null} firstTime  Of the first reading. Null if there is none.
 * @param {number} now
 * @param {string} timeZone
 * @returns {boolean}
 */
export function hasEarlier(view, steps, firstTime, now, timeZone) {
  return firstTime !== null && firstTime < historyWindow(view, steps, now, timeZone).start;
}

/**
 * @param {ViewName} view
 * @param {Omit<HistoryWindow, "before">} range
 * @param {string} timeZone
 * @returns {HistoryWindow}
 */
function withBaseline(view, range, timeZone) {
  if (view !== "hours" && view !== "days") return { ...range, before: null };
  const [start, end] = [range.start, range.end].map((instant) => sameTimeOn(instant, timeZone, -DAYS_OF_WEEK));
  return { ...range, before: { start, end } };
}
