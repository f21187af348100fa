/** Numbers, money and times as people in Britain read them. */

export const NOTHING = "–";

const decimals = (digits) =>
  new Intl.NumberFormat("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const [whole, tenths, hundredths] = [0, 1, 2].map(decimals);
const shortest = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 2 });
const shortTenths = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 1 });
const pounds = new Intl.NumberFormat("en-GB", { style: "currency", currency: "GBP" });

/** The size of a power in watts, as a number and its unit; its direction is told elsewhere. */
export function formatPower(watts) {
  const size = Math.round(Math.abs(watts));
  if (size < 1000) return { number: whole.format(size), unit: "W" };
  return { number: (size < 9995 ? hundredths : tenths).format(size / 1000), unit: "kW" };
}

/** An amount in kWh, or in the unit that its meter counts. */
export function formatEnergy(amount, unit = "kWh") {
  if (amount === null) return NOTHING;
  const size = Math.abs(amount);
  const digits = size < 9.995 ? hundredths : size < 99.95 ? tenths : whole;
  return `${digits.format(amount)} ${unit}`;
}

/** An amount in pounds. */
export function formatMoney(amount) {
  return amount === null ? NOTHING : pounds.format(amount);
}

/** The same, in pence below a pound. */
export function formatMoneyShort(amount) {
  return Math.abs(amount) < 0.995 ? `${whole.format(amount * 100)}p` : formatMoney(amount);
}

/** The price of a unit of energy in pence, to a tenth. */
export function formatRate(pence) {
  return pence === null ? NOTHING : `${shortTenths.format(pence)}p`;
}

export function formatAxisNumber(value) {
  return shortest.format(value);
}

export function formatAxisMoney(value) {
  return Number.isInteger(value) ? `£${whole.format(value)}` : formatMoneyShort(value);
}

export function formatAge(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} hours`;
  return `${whole.format(Math.floor(seconds / 86_400))} days`;
}

/** Times of day and dates on the wall clock of one zone. */
export class WallClock {
  #formats;

  constructor(timeZone) {
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

  /** An instant as one of the forms above writes it. */
  format(form, instant) {
    return this.#formats[form].format(instant);
  }

  /** The time of day, with the day where that is not today. */
  moment(instant, now) {
    const time = this.format("minutes", instant);
    return this.format("day", instant) === this.format("day", now) ? time : `${this.format("day", instant)}, ${time}`;
  }

  /** The same of the end of something: midnight ends a day and does not begin one. */
  endMoment(instant, now) {
    if (this.format("minutes", instant) !== "00:00") return this.moment(instant, now);
    return `the end of ${this.format("day", instant - 1)}`;
  }
}
