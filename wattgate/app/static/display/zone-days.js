/** Days of a time zone: where they start, how long they are, and what its clocks show. Instants are milliseconds since 1970. */

const MINUTE = 60_000;
const DAY = 86_400_000;

/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/**
 * Return the local time at an instant as milliseconds. The UTC methods of Date read its parts.
 * @param {number} instant
 * @param {string} timeZone  An IANA name.
 * @returns {number}
 */
export function localTime(instant, timeZone) {
  const minute = Math.floor(instant / MINUTE) * MINUTE;
  /** @type {Record<string, number>} */
  const parts = {};
  for (const { type, value } of formatOf(timeZone).formatToParts(minute)) parts[type] = Number(value);
  return Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute) + (instant - minute);
}

/**
 * Return the first instant at which clocks show a local time. If clocks skip it, count on from before the change.
 * @param {number} local  As `localTime` returns it.
 * @param {string} timeZone
 * @returns {number}
 */
export function instantOf(local, timeZone) {
  // No offset is larger than a day: these two instants are before and after the one that is looked for.
  const [before, after] = [local - DAY, local + DAY].map((near) => local - (localTime(near, timeZone) - near));
  const matching = [before, after].filter((instant) => localTime(instant, timeZone) === local);
  return matching.length ? Math.min(...matching) : before;
}

/**
 * Return the start of the day of an instant.
 * @param {number} instant
 * @param {string} timeZone
 * @param {number} [days]  How many days later. Negative for earlier days.
 * @returns {number}
 */
export function startOfDay(instant, timeZone, days = 0) {
  const local = localTime(instant, timeZone);
  return instantOf(local - modulo(local, DAY) + days * DAY, timeZone);
}

/**
 * Return the start of the month of an instant.
 * @param {number} instant
 * @param {string} timeZone
 * @param {number} [months]  How many months later. Negative for earlier months.
 * @returns {number}
 */
export function startOfMonth(instant, timeZone, months = 0) {
  const local = new Date(localTime(instant, timeZone));
  return instantOf(Date.UTC(local.getUTCFullYear(), local.getUTCMonth() + months, 1), timeZone);
}

/**
 * Return the instant at which clocks show the same time of day, some days later.
 * @param {number} instant
 * @param {string} timeZone
 * @param {number} days  Negative for earlier days.
 * @returns {number}
 */
export function sameTimeOn(instant, timeZone, days) {
  return instantOf(localTime(instant, timeZone) + days * DAY, timeZone);
}

/** @param {string} timeZone */
function formatOf(timeZone) {
  let format = formats.get(timeZone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-GB", {
      timeZone,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
    });
    formats.set(timeZone, format);
  }
  return format;
}

/**
 * @param {number} value
 * @param {number} divisor
 */
function modulo(value, divisor) {
  return ((value % divisor) + divisor) % divisor;
}
