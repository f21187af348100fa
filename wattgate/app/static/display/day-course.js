/** The course of a day in recorded half hours: the last one, and the day so far against the usual one. */

import { sameTimeOn, startOfDay } from "./zone-days.js";

/** @import { Frame } from "./subscription.js" */

/** @typedef {{ start: string, end: string, value: number | null, completeness?: number | null }} HalfHour */

/** @typedef {{ kind: string, band: string | null, quantity: string }} CostLine */

/** @typedef {{ name: string, rateWithVat: { amount: string } }} Band */

/** @typedef {{ kind: string, rateWithVat: { amount: string } | null, bands: Band[] }} BandTariff */

/**
 * The half hours of today and of the days before in a zone, the lines of today's cost, and the tariff. Null if unknown.
 * @typedef {{ halfHours: HalfHour[], lines: CostLine[] | null, tariff: BandTariff | null, timeZone: string }} RecordedDays
 */

/**
 * The last half hour, and today until `upTo` in kWh, if it is one of today (`hasToday`). `usual` is the mean of the days before until the same time, and
 * `usualDay` that of the whole days. Both are null for less than MIN_DAYS complete days.
 * @typedef {object} DayCourse
 * @property {{ start: number, end: number, value: number }} last
 * @property {number} upTo
 * @property {boolean} hasToday
 * @property {number} soFar
 * @property {number | null} usual
 * @property {number | null} usualDay
 */

/** The days before with which today is compared: each weekday once. */
export const COMPARED_DAYS = 7;
/** Fewer complete days say little about the usual one. */
const MIN_DAYS = 3;
/** A home whose readings are further apart has no live power. */
const MAX_LIVE_INTERVAL_SECONDS = 600;

/**
 * Return whether the readings of a home come as live power, or are expected to. A home with half hours only is not live.
 * @param {Pick<Frame, "power" | "freshness">} frame
 * @returns {boolean}
 */
export function hasLivePower({ power, freshness }) {
  return power !== null || freshness.expectedEverySeconds <= MAX_LIVE_INTERVAL_SECONDS;
}

/**
 * Return the course of today, or null without any half hour.
 * @param {Pick<RecordedDays, "halfHours" | "timeZone">} days  The half hours are in order, oldest first.
 * @param {number} now
 * @returns {DayCourse | null}
 */
export function dayCourse({ halfHours, timeZone }, now) {
  const known = halfHours.filter(({ value }) => value !== null);
  // The newest one may have only some of its readings, such as one of two quarters of an hour.
  if (isPartial(known.at(-1)) && !isPartial(known.at(-2))) known.pop();
  const newest = known.at(-1);
  if (!newest) return null;
  const last = { start: Date.parse(newest.start), end: Date.parse(newest.end), value: newest.value ?? 0 };
  const today = startOfDay(now, timeZone);
  const hasToday = last.end > today;
  const upTo = hasToday ? last.end : today;
  const soFar = sumBetween(halfHours, today, upTo).sum;
  const until = Array.from({ length: COMPARED_DAYS }, (_, index) => sameTimeOn(upTo, timeZone, -index - 1));
  const days = until.map((end) => ({ start: startOfDay(end - 1, timeZone), end }));
  return {
    last,
    upTo,
    hasToday,
    soFar,
    usual: hasToday ? meanOf(halfHours, days) : null,
    usualDay: meanOf(
      halfHours,
      days.map(({ start }) => ({ start, end: startOfDay(start, timeZone, 1) })),
    ),
  };
}

/** @param {HalfHour | undefined} halfHour */
function isPartial(halfHour) {
  return !halfHour || (typeof halfHour.completeness === "number" && halfHour.completeness < 1);
}

/**
 * Return the share of today's energy in the cheapest band, from 0 to 1. Null without bands or energy.
 * @param {Pick<RecordedDays, "lines" | "tariff">} days
 * @returns {number | null}
 */
export function cheapShare({ lines, tariff }) {
  if (!tariff?.bands.length || !lines) return null;
  const rates = tariff.bands.map(({ name, rateWithVat }) => ({ name, rate: Number(rateWithVat.amount) }));
  if (tariff.rateWithVat) rates.push({ name: "", rate: Number(tariff.rateWithVat.amount) });
  const lowest = Math.min(...rates.map(({ rate }) => rate));
  const cheap = rates.filter(({ rate }) => rate === lowest).map(({ name }) => name);
  if (cheap.length === rates.length) return null;
  const energy = lines.filter(({ kind }) => kind === "ENERGY");
  const total = energy.reduce((sum, { quantity }) => sum + Number(quantity), 0);
  const inCheap = energy.filter(({ band }) => cheap.includes(band ?? ""));
  return total > 0 ? inCheap.reduce((sum, { quantity }) => sum + Number(quantity), 0) / total : null;
}

/**
 * Return the mean sum of the complete ranges, or null for less than MIN_DAYS.
 * @param {HalfHour[]} halfHours
 * @param {{ start: number, end: number }[]} ranges
 */
function meanOf(halfHours, ranges) {
  const complete = ranges.map(({ start, end }) => sumBetween(halfHours, start, end)).filter(({ isComplete }) => isComplete);
  if (complete.length < MIN_DAYS) return null;
  return complete.reduce((total, { sum }) => total + sum, 0) / complete.length;
}

/**
 * @param {HalfHour[]} halfHours
 * @param {number} start
 * @param {number} end
 */
function sumBetween(halfHours, start, end) {
  const within = halfHours.filter((one) => Date.parse(one.start) >= start && Date.parse(one.end) <= end);
  const isComplete = within.length > 0 && within.every(({ value }) => value !== null);
  return { sum: within.reduce((sum, { value }) => sum + (value ?? 0), 0), isComplete };
}
