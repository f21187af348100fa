/** Numbers, money and times in British notation. */

/** Shown in place of a value that is not known. */
export const NOTHING = "–";

/** @param {number} digits */
const decimals = (digits) =>
  new Intl.NumberFormat("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const [whole, tenths, hundredths] = [0, 1, 2].map(decimals);
const upToHundredths = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 2 });
const upToTenths = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 1 });
const pounds = new Intl.NumberFormat("en-GB", { style: "currency", currency: "GBP" });

/**
 * Return the size of a power as a number and its unit, without its sign.
 * @param {number} watts
 * @returns {{ number: string, unit: "W" | "kW" }}
 */
export function formatPower(watts) {
  const size = Math.round(Math.abs(watts));
  if (size < 1000) return { number: whole.format(size), unit: "W" };
  return { number: (size < 9995 ? hundredths : tenths).format(size / 1000), unit: "kW" };
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
  const digits = size < 9.995 ? hundredths : size < 99.95 ? tenths : whole;
  return `${digits.format(amount)} ${unit}`;
}

/**
 * Return an amount in pounds, for example £1.20.
 * @param {number | null} amount
 * @returns {string}
 */
export function formatMoney(amount) {
  return amount === null ? NOTHING : pounds.format(amount);
}

/**
 * Return an amount in pounds; below one pound, in whole pence.
 * @param {number} amount  Pounds.
 * @returns {string}
 */
export function formatMoneyShort(amount) {
  return Math.abs(amount) < 0.995 ? `${whole.format(amount * 100)}p` : formatMoney(amount);
}

/**
 * Return a price in pence, to a tenth.
 * @param {string | number | null} pence
 * @returns {string}
 */
export function formatRate(pence) {
  return pence === null ? NOTHING : `${upToTenths.format(Number(pence))}p`;
}

/**
 * Return a number of an axis.
 * @param {number} value
 * @returns {string}
 */
export function formatAxisNumber(value) {
  return upToHundredths.format(value);
}

/**
 * Return an amount of an axis, in whole pounds where it is one.
 * @param {number} value  Pounds.
 * @returns {string}
 */
export function formatAxisMoney(value) {
  return Number.isInteger(value) ? `£${whole.format(value)}` : formatMoneyShort(value);
}

/**
 * Return a duration in its largest fitting unit. Each unit is used from two of it, seconds from zero.
 * @param {number} milliseconds
 * @returns {string}
 */
export function formatAge(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} hours`;
  return `${whole.format(Math.floor(seconds / 86_400))} days`;
}

/**
 * @typedef {"minutes" | "seconds" | "weekday" | "day" | "date" | "dayOfMonth" | "month" | "monthOfYear" | "monthNumber"
 *   | "year"} TimeForm
 */

/** Times and dates in one time zone. */
export class WallClock {
  /** @type {Record<TimeForm, Intl.DateTimeFormat>} */
  #formats;

  /** @param {string} [timeZone]  An IANA name; by default the time zone of the device. */
  constructor(timeZone) {
    /** @param {Intl.DateTimeFormatOptions} options */
    const format = (options) => new Intl.DateTimeFormat("en-GB", { timeZone, ...options });
    this.#formats = {
      minutes: format({ hour: "2-digit", minute: "2-digit" }),
      seconds: format({ hour: "2-digit", minute: "2-digit", second: "2-digit" }),
      weekday: format({ weekday: "short" }),
      day: format({ weekday: "short", day: "numeric", month: "short" }),
      date: format({ weekday: "long", day: "numeric", month: "long" }),
      dayOfMonth: format({ day: "numeric", month: "short" }),
      month: format({ month: "short" }),
      monthOfYear: format({ month: "long", year: "numeric" }),
      monthNumber: format({ month: "numeric" }),
      year: format({ year: "numeric" }),
    };
  }

  /**
   * Return an instant in one of the forms above.
   * @param {TimeForm} form
   * @param {number} instant  Milliseconds since 1970.
   * @returns {string}
   */
  format(form, instant) {
    return this.#formats[form].format(instant);
  }

  /**
   * Return the time of day, with the date if it is not today.
   * @param {number} instant
   * @param {number} now
   * @returns {string}
   */
  moment(instant, now) {
    const time = this.format("minutes", instant);
    return this.format("day", instant) === this.format("day", now) ? time : `${this.format("day", instant)}, ${time}`;
  }

  /**
   * Return the time at which something ends. Midnight is the end of the day before.
   * @param {number} instant
   * @param {number} now
   * @returns {string}
   */
  endMoment(instant, now) {
    if (this.format("minutes", instant) !== "00:00") return this.moment(instant, now);
    return `the end of ${this.format("day", instant - 1)}`;
  }
}
