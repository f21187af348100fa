/** The words of the page of the own data for series, archives and kept records. */

import { formatDay } from "../add-data/wording.js";
import { energyOf } from "../display/home.js";
import { capitalise, currentLocale, text } from "../display/texts.js";

/** @import { TextKey } from "../display/texts.js" */
/** @import { Series } from "./requests.js" */

const KILO = 1000;
const DAYS_OF_A_YEAR = 365;

/**
 * Return the days of a series, such as "Electricity: 1 May 2025 to 30 April 2026".
 * @param {Series} series
 */
export function describeSeries({ name: ownName, classifier, firstTime, lastTime }) {
  const energy = energyOf(classifier);
  const name = energy ? capitalise(text(`energy.${energy}`)) : ownName;
  if (!firstTime || !lastTime) return text("own.withoutReadings", { name });
  return text("own.span", { name, first: formatDay(firstTime), last: formatDay(lastTime) });
}

/**
 * Return a size, such as "1.2 MB".
 * @param {number} bytes
 */
export function formatSize(bytes) {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"];
  let [value, position] = [bytes, 0];
  for (; value >= KILO && position < units.length - 1; position++) value /= KILO;
  const unit = units[position];
  return new Intl.NumberFormat(currentLocale(), { style: "unit", unit, maximumSignificantDigits: 3 }).format(value);
}

/**
 * Return a number of days as years if it is some years, such as "6 years".
 * @param {number} days
 */
export function formatDays(days) {
  const isYears = days >= 2 * DAYS_OF_A_YEAR;
  const [unit, count] = isYears ? ["year", Math.round(days / (DAYS_OF_A_YEAR + 0.25))] : ["day", days];
  return new Intl.NumberFormat(currentLocale(), { style: "unit", unit, unitDisplay: "long" }).format(count);
}

/**
 * Return the records that are kept after a deletion, and why, one text for each.
 * @param {boolean} isPrivate
 * @param {number} keptDays  The days for which a gateway that is not private keeps the records for billing.
 */
export function describeKept(isPrivate, keptDays) {
  /** @type {TextKey[]} */
  const always = ["own.keptReceipt", "own.keptTenancies", "own.keptLog", "own.keptCopies", "own.keptOthers"];
  if (isPrivate) return always.map((key) => text(key));
  const billing = keptDays > 0 ? [text("own.keptBilling", { time: formatDays(keptDays) })] : [];
  return [text("own.keptClosed"), ...billing, ...always.map((key) => text(key))];
}

/**
 * Return whether a typed name is that of a home. Spaces around it and the case of letters do not matter.
 * @param {string} typed
 * @param {string} name
 */
export function isNameOf(typed, name) {
  const fold = (/** @type {string} */ words) => words.normalize("NFC").trim().replace(/\s+/g, " ").toLocaleLowerCase(currentLocale());
  return fold(typed) === fold(name);
}
