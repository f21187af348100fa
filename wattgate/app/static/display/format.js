/** Numbers, money and times in the notation of the current locale, and in the currency of the home. */

import { currentLocale, text } from "./texts.js";

/** @import { TextKey } from "./texts.js" */

/** Shown in place of a value that is not known. */
export const NOTHING = "–";

/** Small amounts and prices are written in hundredths of the currency where these have a name. */
const MINOR_UNITS = 100;
/** From this part of the currency on, an amount rounds to a whole of it. */
const ROUNDS_TO_WHOLE = 0.995;

/**
 * The texts of the hundredths of a currency. Other currencies have none in use: their small amounts have decimals.
 * @type {Readonly<Record<string, TextKey>>}
 */
const MINOR_TEXTS = Object.freeze({ GBP: "money.pence", EUR: "money.cents", USD: "money.cents" });

/** @type {string | null} */
let currency = null;
/**
 * Formatters are expensive to build, and the display writes every second.
 * @type {Map<string, Intl.NumberFormat | Intl.DateTimeFormat>}
 */
const formatters = new Map();

/**
 * Use a currency from now on. Return whether it has changed. Amounts have no symbol before the first call.
 * @param {string | null} code  ISO 4217. Without one, amounts have no symbol.
 * @returns {boolean}
 */
export function setCurrency(code) {
  if (code === currency) return false;
  currency = code;
  return true;
}

/**
 * Return the size of a power as a number and its unit, without its sign.
 * @param {number} watts
 * @returns {{ number: string, unit: "W" | "kW" }}
 */
export function formatPower(watts) {
  const size = Math.round(Math.abs(watts));
  if (size < 1000) return { number: formatDecimals(size, 0), unit: "W" };
  return { number: formatDecimals(size / 1000, size < 9995 ? 2 : 1), unit: "kW" };
}

/**
 * Return an amount of energy with its unit, to three significant digits up to 100.
 * @param {number | null} amount
 * @param {string} unit  The unit of the meter, for example kWh or m³.
 * @returns {string}
 */
export function formatEnergy(amount, unit = "kWh") {
  if (amount === null) return NOTHING;
  const size = Math.abs(amount);
  return `${formatDecimals(amount, size < 9.995 ? 2 : size < 99.95 ? 1 : 0)} ${unit}`;
}

/**
 * Return a share as a whole percentage.
 * @param {number} share  From 0 to 1, or more.
 * @returns {string}
 */
export function formatShare(share) {
  return numbers({ style: "percent", maximumFractionDigits: 0 }).format(share);
}

/**
 * Return an amount of the currency, for example £1.20.
 * @param {number | null} amount
 * @returns {string}
 */
export function formatMoney(amount) {
  if (amount === null) return NOTHING;
  return currency ? numbers(currencyStyle(currency)).format(amount) : formatDecimals(amount, 2);
}

/** The unit of costs in pounds. Costs in other currencies have the code of the currency as their unit. */
const PENCE = "pence";

/**
 * Return whether a unit of a storage field is that of money.
 * @param {string} unit
 */
export function isMoney(unit) {
  return unit === PENCE || /^[A-Z]{3}$/.test(unit);
}

/**
 * Return how many of a unit of money the currency has.
 * @param {string} unit
 */
export function unitsOfMoney(unit) {
  return unit === PENCE ? MINOR_UNITS : 1;
}

/**
 * Return an amount of the currency; below one of it, in whole hundredths such as pence.
 * @param {number} amount
 * @returns {string}
 */
export function formatMoneyShort(amount) {
  const minor = minorText();
  if (!minor || Math.abs(amount) >= ROUNDS_TO_WHOLE) return formatMoney(amount);
  return text(minor, { amount: formatDecimals(amount * MINOR_UNITS, 0) });
}

/** The symbols of the units of energy, by their names in the schema. */
const ENERGY_SYMBOLS = new Map([
  ["WATT_HOUR", "Wh"],
  ["KILOWATT_HOUR", "kWh"],
  ["MEGAWATT_HOUR", "MWh"],
  ["CUBIC_METRE", "m³"],
]);

/**
 * Return the symbol of a unit of energy. A unit of the application has none.
 * @param {string} unit  As the schema names it.
 * @returns {string}
 */
export function energySymbol(unit) {
  return ENERGY_SYMBOLS.get(unit) ?? "";
}

/**
 * Return a price, in hundredths of the currency where these have a name. It keeps the four decimals of the currency to
 * which the gateway rounds, because a second rounding could make it differ from other screens.
 * @param {string | number | null} price  In the currency.
 * @returns {string}
 */
export function formatRate(price) {
  if (price === null) return NOTHING;
  const minor = minorText();
  const amount = Number(price);
  if (minor) return text(minor, { amount: formatUpTo(toMinor(amount), 2) });
  return currency ? numbers({ ...currencyStyle(currency), maximumFractionDigits: 4 }).format(amount) : formatUpTo(amount, 4);
}

/**
 * Return a number of an axis.
 * @param {number} value
 * @returns {string}
 */
export function formatAxisNumber(value) {
  return formatUpTo(value, 2);
}

/**
 * Return a number as the user edits it: with the decimal sign of the locale and without groups.
 * @param {number} value
 * @returns {string}
 */
export function formatEntry(value) {
  return numbers({ maximumFractionDigits: 20, useGrouping: false, numberingSystem: "latn" }).format(value);
}

/**
 * Return the sign between the groups of three digits of a number.
 * @returns {string}
 */
export function groupSign() {
  const parts = numbers({ numberingSystem: "latn" }).formatToParts(1_234_567);
  return parts.find(({ type }) => type === "group")?.value ?? "";
}

/**
 * Return an amount of an axis, without decimals where it has none.
 * @param {number} value
 * @returns {string}
 */
export function formatAxisMoney(value) {
  if (!Number.isInteger(value)) return formatMoneyShort(value);
  return currency ? numbers({ ...currencyStyle(currency), maximumFractionDigits: 0 }).format(value) : formatDecimals(value, 0);
}

/**
 * Return a duration in its largest fitting unit. Each unit is used from two of it, seconds from zero.
 * @param {number} milliseconds
 * @returns {string}
 */
export function formatAge(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 120) return text("age.seconds", { count: seconds });
  if (seconds < 7200) return text("age.minutes", { count: Math.floor(seconds / 60) });
  if (seconds < 172_800) return text("age.hours", { count: Math.floor(seconds / 3600) });
  return text("age.days", { count: Math.floor(seconds / 86_400) });
}

/**
 * Return a time that is left, in minutes and seconds, such as 9:05.
 * @param {number} milliseconds
 * @returns {string}
 */
export function formatCountdown(milliseconds) {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** The forms of a time that the display writes. */
const TIME_FORMS = /** @satisfies {Record<string, Intl.DateTimeFormatOptions>} */ ({
  minutes: { hour: "2-digit", minute: "2-digit" },
  seconds: { hour: "2-digit", minute: "2-digit", second: "2-digit" },
  weekday: { weekday: "short" },
  day: { weekday: "short", day: "numeric", month: "short" },
  date: { weekday: "long", day: "numeric", month: "long" },
  dayOfMonth: { day: "numeric", month: "short" },
  month: { month: "short" },
  monthOfYear: { month: "long", year: "numeric" },
  year: { year: "numeric" },
  momentOfYear: { day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit" },
});

/** @typedef {keyof typeof TIME_FORMS} TimeForm */

/** Times and dates in one time zone, in the notation of the current locale. */
export class WallClock {
  /** @type {string | undefined} */
  #timeZone;

  /** @param {string} [timeZone]  An IANA name; by default the time zone of the device. */
  constructor(timeZone) {
    this.#timeZone = timeZone;
  }

  /**
   * Return an instant in one of the forms above.
   * @param {TimeForm} form
   * @param {number} instant  Milliseconds since 1970.
   * @returns {string}
   */
  format(form, instant) {
    return dates(this.#timeZone, TIME_FORMS[form]).format(instant);
  }

  /**
   * Return the numbers of an instant on the clock and the calendar, whatever the locale writes.
   * @param {number} instant
   * @returns {{ month: number, hour: number, minute: number }}
   */
  numbers(instant) {
    const options = /** @type {const} */ ({ month: "numeric", hour: "numeric", minute: "numeric", hourCycle: "h23" });
    const parts = dates(this.#timeZone, { ...options, numberingSystem: "latn", calendar: "gregory" }).formatToParts(instant);
    const part = (/** @type {string} */ name) => Number(parts.find(({ type }) => type === name)?.value);
    return { month: part("month"), hour: part("hour"), minute: part("minute") };
  }

  /**
   * Return the time of day, with the date if it is not today.
   * @param {number} instant
   * @param {number} now
   * @returns {string}
   */
  moment(instant, now) {
    const [day, time] = [this.format("day", instant), this.format("minutes", instant)];
    return day === this.format("day", now) ? time : text("time.dayAndTime", { day, time });
  }

  /**
   * Return the time at which something ends. Midnight is the end of the day before.
   * @param {number} instant
   * @param {number} now
   * @returns {string}
   */
  endMoment(instant, now) {
    const { hour, minute } = this.numbers(instant);
    if (hour + minute > 0) return this.moment(instant, now);
    return text("time.endOf", { day: this.format("day", instant - 1) });
  }
}

/**
 * Return an amount in hundredths. A float of the currency has an error in its last digits, which must not be rounded up.
 * @param {number} amount
 */
function toMinor(amount) {
  return Number((amount * MINOR_UNITS).toPrecision(12));
}

function minorText() {
  return currency === null ? undefined : MINOR_TEXTS[currency];
}

/**
 * A home has one currency, so the short symbol is enough.
 * @param {string} code
 * @returns {Intl.NumberFormatOptions}
 */
function currencyStyle(code) {
  return { style: "currency", currency: code, currencyDisplay: "narrowSymbol" };
}

/**
 * @param {number} value
 * @param {number} digits
 */
function formatDecimals(value, digits) {
  return numbers({ minimumFractionDigits: digits, maximumFractionDigits: digits }).format(value);
}

/**
 * @param {number} value
 * @param {number} digits
 */
function formatUpTo(value, digits) {
  return numbers({ maximumFractionDigits: digits }).format(value);
}

/** @param {Intl.NumberFormatOptions} options */
function numbers(options) {
  return cached(JSON.stringify(options), (locale) => new Intl.NumberFormat(locale, options));
}

/**
 * @param {string | undefined} timeZone
 * @param {Intl.DateTimeFormatOptions} options
 */
function dates(timeZone, options) {
  return cached(`${timeZone}/${JSON.stringify(options)}`, (locale) => new Intl.DateTimeFormat(locale, { timeZone, ...options }));
}

/**
 * Return the formatter of a name for the current locale. Build it at its first use.
 * @template {Intl.NumberFormat | Intl.DateTimeFormat} T
 * @param {string} name
 * @param {(locale: string) => T} build
 * @returns {T}
 */
function cached(name, build) {
  const locale = currentLocale();
  const key = `${locale} ${name}`;
  const known = formatters.get(key) ?? build(locale);
  formatters.set(key, known);
  return /** @type {T} */ (known);
}
