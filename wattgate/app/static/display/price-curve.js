/** The prices of electricity today and tomorrow, from tariffs and their prices. Instants are milliseconds since 1970. */

import { localTime, startOfDay } from "./zone-days.js";

/** @import { Amount } from "./subscription.js" */

/**
 * A tariff as the gateway describes it. Rates are decimals in the currency of the home.
 * @typedef {object} PricedTariff
 * @property {"FLAT" | "TIME_OF_USE" | "BLOCK" | "DYNAMIC"} kind
 * @property {Amount | null} rateWithVat  The flat rate, or the rate outside all bands.
 * @property {string} timeZone
 * @property {string} validFrom
 * @property {Band[]} bands
 * @property {{ at: string, end: string, rateWithVat: string }[]} prices  Of periods of 5 to 60 minutes, in order.
 */

/**
 * Hours of some weekdays with their own rate. If the end is not after the start, the band ends on the next day.
 * @typedef {{ name: string, rateWithVat: Amount, weekdays: string[], start: string, end: string }} Band
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

const MINUTE = 60_000;
const DAY = 86_400_000;
/** Offsets of time zones are multiples of this, so bands and most prices begin and end at multiples of it. */
const SLOT = 15 * MINUTE;
const WEEKDAYS = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"];

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
 * @param {PricedTariff[]} tariffs  Present and future ones, in any order.
 * @param {number} now
 * @param {string} timeZone  Of the home.
 * @returns {PriceCurve | null}
 */
export function buildCurve(tariffs, now, timeZone) {
  const { start, end } = priceRange(now, timeZone);
  const tomorrow = startOfDay(now, timeZone, 1);
  const used = tariffsWithin(tariffs, start, end);
  if (!used.some(({ kind }) => kind === "TIME_OF_USE" || kind === "DYNAMIC")) return null;
  const pricing = used.map((tariff) => ({ from: Date.parse(tariff.validFrom), rateAt: rateFunction(tariff) })).reverse();
  const slot = Math.min(SLOT, ...used.flatMap(({ prices }) => prices.slice(0, 1).map(lengthOf)));
  const steps = mergedSteps({ start, end, slot }, tomorrow, (at) => pricing.find(({ from }) => from <= at)?.rateAt(at) ?? null);
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
 * @param {PricedTariff[]} tariffs
 * @param {number} start
 * @param {number} end
 */
function tariffsWithin(tariffs, start, end) {
  const ordered = [...tariffs].sort((one, other) => Date.parse(one.validFrom) - Date.parse(other.validFrom));
  const begun = ordered.filter(({ validFrom }) => Date.parse(validFrom) < end);
  const first = begun.findLastIndex(({ validFrom }) => Date.parse(validFrom) <= start);
  return begun.slice(Math.max(first, 0));
}

/** @param {PricedTariff["prices"][number]} price */
function lengthOf({ at, end }) {
  return Date.parse(end) - Date.parse(at);
}

/**
 * @param {{ start: number, end: number, slot: number }} range  Prices change at multiples of `slot` only.
 * @param {number} tomorrow  A step ends here, even if the price stays the same.
 * @param {(at: number) => number | null} rateAt
 * @returns {PriceStep[]}
 */
function mergedSteps({ start, end, slot }, tomorrow, rateAt) {
  /** @type {PriceStep[]} */
  const steps = [];
  for (let at = start; at < end; at = Math.min(at + slot, end)) {
    const rate = rateAt(at);
    const last = steps.at(-1);
    const slotEnd = Math.min(at + slot, end);
    if (last && last.rate === rate && at !== tomorrow) last.end = slotEnd;
    else steps.push({ start: at, end: slotEnd, rate });
  }
  return steps;
}

/**
 * Return a function from an instant to the price with VAT.
 * @param {PricedTariff} tariff
 * @returns {(at: number) => number | null}
 */
function rateFunction({ kind, rateWithVat, bands, prices, timeZone }) {
  if (kind === "DYNAMIC") {
    const known = prices.map(({ at, end, rateWithVat: rate }) => ({
      start: Date.parse(at),
      end: Date.parse(end),
      rate: roundRate(rate),
    }));
    let position = 0; // instants come in order
    return (at) => {
      while (position < known.length && known[position].end <= at) position += 1;
      const price = known[position];
      return price && price.start <= at ? price.rate : null;
    };
  }
  if (kind === "BLOCK") return () => null; // the price depends on the energy used
  /** @param {Amount | null} rate */
  const rounded = (rate) => (rate ? roundRate(rate.amount) : null);
  if (kind === "FLAT") return () => rounded(rateWithVat);
  return (at) => {
    const local = localTime(at, timeZone);
    return rounded(bands.find((band) => covers(band, local))?.rateWithVat ?? rateWithVat);
  };
}

/**
 * @param {Band} band
 * @param {number} local
 */
function covers({ weekdays, start, end }, local) {
  const [from, to] = [start, end].map(timeOfDay);
  const time = local % DAY;
  const day = (Math.floor(local / DAY) + 3) % 7; // 1 January 1970 was a Thursday
  if (from < to) return from <= time && time < to && weekdays.includes(WEEKDAYS[day]);
  if (time >= from) return weekdays.includes(WEEKDAYS[day]);
  return time < to && weekdays.includes(WEEKDAYS[(day + 6) % 7]);
}

/** @param {string} text  Such as 23:30. */
function timeOfDay(text) {
  const [hours, minutes] = text.split(":").map(Number);
  return (hours * 60 + minutes) * MINUTE;
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
