/** The answers from the readings of a home: its standby power, this week and month beside last year, and when to run a task. */

import { energyOf, zoneOf } from "../display/home.js";
import { formatEnergy, formatMoney, formatPower, formatRate, formatShare, setCurrency, WallClock } from "../display/format.js";
import { text } from "../display/texts.js";
import { localTime, startOfDay, startOfMonth } from "../display/zone-days.js";
import { callInPart, toTimeRange } from "../shared/gateway.js";

/** @import { OwnHome } from "./requests.js" */

/** @typedef {{ value: number | null, completeness: number | null }} Part */
/** @typedef {{ current: Part, previous: Part, baselineIsShorter: boolean, changeRatio: number | null }} Comparison */
/** @typedef {{ unit: string, comparison: Comparison | null }} Compared */
/** @typedef {{ amount: string }} Amount */
/** @typedef {{ start: string, end: string, meanRateWithVat: Amount & { currency: string } }} Window */

/**
 * @typedef {object} Standby
 * @property {number} days
 * @property {{ value: number } | null} power
 * @property {string | null} noPowerReason
 * @property {{ value: number } | null} yearlyEnergy
 * @property {(Amount & { currency: string }) | null} yearlyCostWithVat
 */

/**
 * @typedef {object} Use
 * @property {Standby | null} standby
 * @property {Compared | null} week
 * @property {Compared | null} month
 * @property {Window | null} best  The cheapest two hours until the end of tomorrow.
 * @property {Window | null} soon  The two hours from now on.
 * @property {{ rateWithVat: Amount }[]} priceCurve  From now until the end of tomorrow.
 */

const MINUTES = 120;
const MINUTE = 60_000;
const DAYS_OF_WEEK = 7;
/** A smaller change is not worth saying: readings are not that exact. */
const MIN_RATIO = 0.005;
/** The power of which the text says what it costs less. */
const LESS_WATTS = 10;

const USE = `query Use($resourceId: ID!, $zone: TimeZone!, $week: TimeRange!, $month: TimeRange!, $prices: TimeRange!,
    $minutes: Int!, $now: DateTime!, $soon: DateTime!, $end: DateTime!) {
  resource(resourceId: $resourceId) {
    standby(timeZone: $zone) {
      days power { value } noPowerReason yearlyEnergy { value } yearlyCostWithVat { amount currency }
    }
    week: readings(range: $week, period: P1D, timeZone: $zone) { ...Compared }
    month: readings(range: $month, period: P1D, timeZone: $zone) { ...Compared }
    best: cheapestWindow(minutes: $minutes, notBefore: $now, before: $end) { ...Window }
    soon: cheapestWindow(minutes: $minutes, notBefore: $now, before: $soon) { ...Window }
    priceCurve(range: $prices) { rateWithVat { amount } }
  }
}
fragment Compared on ReadingSeries {
  unit
  comparison(baseline: SAME_PERIOD_LAST_YEAR) {
    current { value completeness } previous { value completeness } baselineIsShorter changeRatio
  }
}
fragment Window on CheapestWindow { start end meanRateWithVat { amount currency } }`;

/**
 * Return the facts of the electricity of a home. Null without such a meter, or if its data is withheld.
 * @param {string} token
 * @param {OwnHome} home
 * @param {number} now
 * @returns {Promise<Use | null>}
 */
export async function readUse(token, home, now) {
  const resource = home.resources.find(({ classifier }) => energyOf(classifier) === "electricity");
  if (!resource) return null;
  const zone = zoneOf(home);
  const end = startOfDay(now, zone, 2);
  const variables = {
    resourceId: resource.resourceId,
    zone,
    ...periodsOf(now, zone),
    prices: toTimeRange({ start: now, end }),
    minutes: MINUTES,
    now: new Date(now).toISOString(),
    soon: new Date(now + MINUTES * MINUTE).toISOString(),
    end: new Date(end).toISOString(),
  };
  return (await callInPart(USE, variables, token, "CONSENT_REVOKED")).data.resource;
}

/**
 * Return the whole week, from Monday, and the whole month of an instant. The gateway compares the days that have begun:
 * those of a week with the same weekdays 52 weeks earlier, those of a month with the same dates.
 * @param {number} now
 * @param {string} zone
 */
export function periodsOf(now, zone) {
  const sinceMonday = (new Date(localTime(now, zone)).getUTCDay() + DAYS_OF_WEEK - 1) % DAYS_OF_WEEK;
  const week = { start: startOfDay(now, zone, -sinceMonday), end: startOfDay(now, zone, DAYS_OF_WEEK - sinceMonday) };
  const month = { start: startOfMonth(now, zone), end: startOfMonth(now, zone, 1) };
  return { week: toTimeRange(week), month: toTimeRange(month) };
}

/**
 * Return the answers in words, one for each question: its title, its sentences, and a note on the method.
 * @param {Use} use
 * @param {OwnHome} home
 * @param {number} now
 * @returns {{ title: string, sentences: string[], note: string | null }[]}
 */
export function describeUse(use, home, now) {
  setCurrency((use.best?.meanRateWithVat ?? use.standby?.yearlyCostWithVat)?.currency ?? null);
  return [
    { title: text("own.standby"), sentences: standbyWords(use.standby), note: methodOf(use.standby) },
    { title: text("own.lastYear"), sentences: [comparedWords("week", use.week), comparedWords("month", use.month)], note: null },
    { title: text("own.whenToRun"), sentences: windowWords(use, new WallClock(zoneOf(home)), now), note: null },
  ];
}

/** @param {Standby | null} standby */
function standbyWords(standby) {
  if (!standby?.power) return [text(standby?.noPowerReason === "TOO_FEW_DAYS" ? "own.standbyDays" : "own.standbyUnknown")];
  const { number, unit } = formatPower(standby.power.value);
  const power = `${number} ${unit}`;
  const energy = formatEnergy(standby.yearlyEnergy?.value ?? null);
  const cost = standby.yearlyCostWithVat ? Number(standby.yearlyCostWithVat.amount) : null;
  if (cost === null) return [text("own.standbyEnergy", { power, energy })];
  const words = [text("own.standbyCost", { power, energy, cost: formatMoney(cost) })];
  if (standby.power.value >= LESS_WATTS) {
    const saved = formatMoney((cost / standby.power.value) * LESS_WATTS);
    words.push(text("own.standbySaves", { power: `${LESS_WATTS} W`, cost: saved }));
  }
  return words;
}

/** @param {Standby | null} standby */
function methodOf(standby) {
  return standby?.power ? text("own.standbyMethod", { days: standby.days }) : null;
}

/**
 * Compare like with like only: a part in which readings are missing says nothing about the use.
 * @param {"week" | "month"} period
 * @param {Compared | null} compared
 */
function comparedWords(period, compared) {
  const { unit = "kWh", comparison = null } = compared ?? {};
  if (!comparison || comparison.current.value === null) return text(`own.${period}Empty`);
  const { current, previous, changeRatio: ratio } = comparison;
  const energy = formatEnergy(current.value, unit);
  if (previous.value === null || ratio === null) return text(`own.${period}Alone`, { energy });
  const isWhole = [current, previous].every(({ completeness }) => completeness === null || completeness >= 1);
  if (!isWhole || comparison.baselineIsShorter) return text(`own.${period}Partial`, { energy });
  const before = formatEnergy(previous.value, unit);
  if (Math.abs(ratio) < MIN_RATIO) return text(`own.${period}Equal`, { energy, before });
  const share = formatShare(Math.abs(ratio));
  return text(ratio < 0 ? `own.${period}Less` : `own.${period}More`, { energy, before, share });
}

/**
 * @param {Pick<Use, "best" | "soon" | "priceCurve">} use
 * @param {WallClock} wallClock
 * @param {number} now
 */
function windowWords({ best, soon, priceCurve }, wallClock, now) {
  if (!best) return [text("own.pricesUnknown")];
  if (new Set(priceCurve.map(({ rateWithVat }) => Number(rateWithVat.amount))).size < 2) return [text("own.onePrice")];
  const [start, end] = [best.start, best.end].map((instant) => wallClock.moment(Date.parse(instant), now));
  const rate = Number(best.meanRateWithVat.amount);
  const words = [text("own.cheapest", { start, end, rate: formatRate(rate) })];
  const less = soon ? Number(soon.meanRateWithVat.amount) - rate : 0;
  if (less > 0) words.push(text("own.cheaper", { rate: formatRate(less) }));
  return words;
}
