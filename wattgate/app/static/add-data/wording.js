/** Times, months and amounts of a file in the language of the page. */

import { currentLocale } from "../display/texts.js";

/** A local time has no zone. It is formatted as if it were in UTC. */
const LOCAL = { timeZone: "UTC" };
const LENGTH_OF_TIME = 16;

/** @param {string} time  ISO 8601, local or with an offset, which is left out. */
function toLocal(time) {
  return new Date(`${time.slice(0, LENGTH_OF_TIME)}Z`);
}

/**
 * Return the time of a reading, such as "6 January 2025, 00:00 – 00:30".
 * @param {string} start
 * @param {string | null} end
 */
export function formatSpan(start, end) {
  const format = new Intl.DateTimeFormat(currentLocale(), { ...LOCAL, dateStyle: "long", timeStyle: "short" });
  return end ? format.formatRange(toLocal(start), toLocal(end)) : format.format(toLocal(start));
}

/**
 * Return a day of an instant, such as "6 January 2025".
 * @param {string} instant
 */
export function formatDay(instant) {
  return new Intl.DateTimeFormat(currentLocale(), { dateStyle: "long" }).format(new Date(instant));
}

/**
 * Return a month, such as "January 2025".
 * @param {string} month  Such as 2025-01.
 */
export function formatMonth(month) {
  const format = new Intl.DateTimeFormat(currentLocale(), { ...LOCAL, year: "numeric", month: "long" });
  return format.format(new Date(`${month}-01T00:00Z`));
}

/**
 * Return a value with all its decimal places, and its unit.
 * @param {number} value
 * @param {string} unit
 */
export function formatAmount(value, unit) {
  return `${new Intl.NumberFormat(currentLocale(), { maximumFractionDigits: 6 }).format(value)} ${unit}`.trim();
}

/** @param {number} count */
export function formatCount(count) {
  return new Intl.NumberFormat(currentLocale()).format(count);
}
