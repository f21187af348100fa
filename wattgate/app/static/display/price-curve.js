/** The prices of electricity today and tomorrow, in steps. Instants are milliseconds since 1970. */

import { startOfDay } from "./zone-days.js";

/** @import { Amount } from "./subscription.js" */

/**
 * The known prices of a range, in order, and the tariffs that are in force now or later, in any order.
 * @typedef {object} KnownPrices
 * @property {{ kind: "FLAT" | "TIME_OF_USE" | "BLOCK" | "DYNAMIC", validFrom: string }[]} tariffs
 * @property {{ start: string, end: string, rateWithVat: Amount }[]} priceCurve
 */

/**
 * A span of time with one price with VAT. The price is null while it is not known.
 * @typedef {{ start: number, end: number, rate: number | null }} PriceStep
 */

/**
 * The prices of today and tomorrow. The steps follow each other without gaps and end where the last known day ends.
 * @typedef {object} PriceCurve
 * @property {PriceStep[]} steps
 * @property {number} start  The start of today.
 * @property {number} tomorrow  The start of tomorrow.
 * @property {number} end  The end of the last day that has a known price.
 * @property {"all" | "part" | "none"} tomorrowKnown
 * @property {boolean} isDynamic  Whether prices arrive day by day.
 */

/**
 * Return the start of today and the end of tomorrow.
 * @param {number} now
 * @param {string} timeZone  Of the home.
 */
export function priceRange(now, timeZone) {
  return { start: startOfDay(now, timeZone), end: startOfDay(now, timeZone, 2) };
}

/**
 * Return the prices of today and tomorrow. Null if no price depends on time, or if none of them is known.
 * @param {KnownPrices} prices
 * @param {number} now
 * @param {string} timeZone  Of the home.
 * @returns {PriceCurve | null}
 */
export function buildCurve({ tariffs, priceCurve }, now, timeZone) {
  const { start, end } = priceRange(now, timeZone);
  const tomorrow = startOfDay(now, timeZone, 1);
  const used = tariffsWithin(tariffs, start, end);
  if (!used.some(({ kind }) => kind === "TIME_OF_USE" || kind === "DYNAMIC")) return null;
  const steps = mergedSteps(priceCurve, { start, end }, tomorrow);
  if (steps.every(({ rate }) => rate === null)) return null;
  const ofTomorrow = steps.filter((step) => step.start >= tomorrow).map(({ rate }) => rate !== null);
  const tomorrowKnown = ofTomorrow.every(Boolean) ? "all" : ofTomorrow.some(Boolean) ? "part" : "none";
  const isShort = tomorrowKnown === "none";
  return {
    steps: isShort ? steps.filter((step) => step.start < tomorrow) : steps,
    start,
    tomorrow,
    end: isShort ? tomorrow : end,
    tomorrowKnown,
    isDynamic: used.some(({ kind }) => kind === "DYNAMIC"),
  };
}

/**
 * Return the first span with the lowest known price that is not over. Null if all known prices to come are the same.
 * @param {PriceCurve} curve
 * @param {number} now
 * @returns {{ start: number, end: number, rate: number } | null}
 */
export function cheapestSlot({ steps }, now) {
  const coming = steps.filter(isKnown).filter(({ end }) => end > now);
  const lowest = Math.min(...coming.map(({ rate }) => rate));
  if (!coming.some(({ rate }) => rate > lowest)) return null;
  const first = coming.findIndex(({ rate }) => rate === lowest);
  let last = first;
  // Steps end at midnight. A cheap night goes on after it.
  while (coming[last + 1]?.rate === lowest && coming[last + 1].start === coming[last].end) last += 1;
  return { start: coming[first].start, end: coming[last].end, rate: lowest };
}

/**
 * Return the step at an instant, or undefined if the curve does not cover it.
 * @param {PriceCurve} curve
 * @param {number} instant
 * @returns {PriceStep | undefined}
 */
export function stepAt({ steps }, instant) {
  return steps.find(({ start, end }) => start <= instant && instant < end);
}

/**
 * @param {PriceStep} step
 * @returns {step is { start: number, end: number, rate: number }}
 */
function isKnown(step) {
  return step.rate !== null;
}

/**
 * Return the tariffs that are in force in a range, oldest first.
 * @param {KnownPrices["tariffs"]} tariffs
 * @param {number} start
 * @param {number} end
 */
function tariffsWithin(tariffs, start, end) {
  const ordered = [...tariffs].sort((one, other) => Date.parse(one.validFrom) - Date.parse(other.validFrom));
  const begun = ordered.filter(({ validFrom }) => Date.parse(validFrom) < end);
  const first = begun.findLastIndex(({ validFrom }) => Date.parse(validFrom) <= start);
  return begun.slice(Math.max(first, 0));
}

/**
 * Return steps without gaps. Equal prices that follow each other are one step, and unknown ones are null.
 * @param {KnownPrices["priceCurve"]} spans
 * @param {{ start: number, end: number }} range
 * @param {number} tomorrow  A step ends here, even if the price stays the same.
 * @returns {PriceStep[]}
 */
function mergedSteps(spans, range, tomorrow) {
  /** @type {PriceStep[]} */
  const steps = [];
  /** @param {number} end @param {number | null} rate */
  const extendTo = (end, rate) => {
    const start = steps.at(-1)?.end ?? range.start;
    if (end <= start) return;
    const last = steps.at(-1);
    if (last?.rate === rate && start !== tomorrow) last.end = end;
    else steps.push({ start, end, rate });
  };
  /** @param {number} end @param {number | null} rate */
  const add = (end, rate) => {
    extendTo(Math.min(end, tomorrow), rate);
    extendTo(end, rate);
  };
  for (const { start, end, rateWithVat } of spans) {
    add(Math.min(Date.parse(start), range.end), null);
    add(Math.min(Date.parse(end), range.end), roundRate(rateWithVat.amount));
  }
  add(range.end, null);
  return steps;
}

/**
 * Round a price to four decimals, halves away from zero, as frames do. It reads the digits: as a float, some halves would
 * be a little less and round the other way.
 * @param {string} rate
 */
function roundRate(rate) {
  const [, sign, whole, places] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(rate) ?? [];
  if (whole === undefined) return Number(rate);
  const digits = `${places ?? ""}00000`;
  const size = Number(whole) * 10_000 + Number(digits.slice(0, 4)) + (digits[4] >= "5" ? 1 : 0);
  return (sign && size ? -size : size) / 10_000;
}
