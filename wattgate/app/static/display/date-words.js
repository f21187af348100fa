/** Says in words which range the history shows, and how it compares with the week before. */

import { currentLocale, text } from "./texts.js";

/** @import { ColumnComparison } from "./comparison.js" */
/** @import { WallClock } from "./format.js" */
/** @import { Column, ViewName } from "./history.js" */

/** A smaller change is not worth saying: readings are not that exact. */
const MIN_RATIO = 0.005;

/**
 * Return the title of the range that a view shows.
 * @param {ViewName} view
 * @param {number} steps  How many steps before the newest range.
 * @param {Column[]} columns
 * @param {WallClock} wallClock
 * @param {number} now
 * @returns {string}
 */
export function rangeTitle(view, steps, columns, wallClock, now) {
  const last = columns.at(-1);
  if (steps === 0 || !last) return text(`view.${view}Title`);
  const [first, end] = [columns[0].start, last.end - 1];
  if (view === "months") return range(wallClock.format("monthOfYear", first), wallClock.format("monthOfYear", end));
  const words =
    view === "hours"
      ? wallClock.format("date", first)
      : range(wallClock.format("dayOfMonth", first), wallClock.format("dayOfMonth", end));
  const year = wallClock.format("year", end);
  return year === wallClock.format("year", now) ? words : text("dates.withYear", { range: words, year });
}

/**
 * Return the comparison with the same days or hours of the week before. Empty if there is none.
 * @param {ColumnComparison | null} comparison
 * @param {ViewName} view
 * @param {number} steps
 * @returns {string}
 */
export function comparisonText(comparison, view, steps) {
  if (!comparison || (view !== "hours" && view !== "days")) return "";
  const period = text(steps === 0 ? `dates.${view}Now` : `dates.${view}Earlier`);
  const { ratio } = comparison;
  if (Math.abs(ratio) < MIN_RATIO) return text("dates.equal", { period });
  const percent = new Intl.NumberFormat(currentLocale(), { style: "percent" }).format(Math.abs(ratio));
  return text(ratio < 0 ? "dates.less" : "dates.more", { percent, period });
}

/**
 * @param {string} start
 * @param {string} end
 */
function range(start, end) {
  return text("time.dayRange", { start, end });
}
