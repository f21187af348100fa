/** Compares the columns of the history with those of the same days or hours a week earlier. */

import { sameTimeOn } from "./zone-days.js";

/** @import { Column, Mark } from "./history.js" */

/**
 * The sums of the columns that are compared. `ratio` is the change divided by the earlier sum.
 * @typedef {{ current: number, previous: number, ratio: number }} ColumnComparison
 */

const DAYS_EARLIER = 7;
/** @type {Mark[]} */
const UNFINISHED = ["running", "late"];
/** @type {Mark[]} */
const INCOMPLETE = ["gaps", "missing", "unpriced", "noTariff", "noPrice"];

/**
 * Return for each column the one of the same time of day a week earlier, or null.
 * @param {Column[]} columns
 * @param {Column[]} earlier
 * @param {string} timeZone
 * @returns {(Column | null)[]}
 */
export function matchEarlier(columns, earlier, timeZone) {
  const byStart = new Map(earlier.map((column) => [column.start, column]));
  return columns.map(({ start }) => byStart.get(sameTimeOn(start, timeZone, -DAYS_EARLIER)) ?? null);
}

/**
 * Compare columns with their matches. The newest columns are left out while they are unfinished. Return null unless all
 * the others and their matches are complete: a sum with gaps says nothing about the use.
 * @param {Column[]} columns
 * @param {(Column | null)[]} matches
 * @returns {ColumnComparison | null}
 */
export function compareColumns(columns, matches) {
  const count = columns.findLastIndex((column) => !hasMark(column, UNFINISHED)) + 1;
  const pairs = columns.slice(0, count).map((column, index) => [column, matches[index]]);
  if (!pairs.length || !pairs.flat().every((column) => column && isComplete(column))) return null;
  const [current, previous] = [0, 1].map((side) => pairs.reduce((sum, pair) => sum + (pair[side]?.value ?? 0), 0));
  return previous > 0 ? { current, previous, ratio: current / previous - 1 } : null;
}

/** @param {Column} column */
function isComplete(column) {
  return column.value !== null && !hasMark(column, UNFINISHED) && !hasMark(column, INCOMPLETE);
}

/**
 * @param {Column} column
 * @param {Mark[]} marks
 */
function hasMark(column, marks) {
  return marks.some((mark) => column.marks.has(mark));
}
