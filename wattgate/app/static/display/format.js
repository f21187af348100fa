/** Numbers, money and times as people in Britain read them. */

export const NOTHING = "–";

const decimals = (digits) =>
  new Intl.NumberFormat("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const [whole, tenths, hundredths] = [0, 1, 2].map(decimals);
const shortest = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 2 });
const shortTenths = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 1 });
const currencies = new Map();

/** The size of a power in watts, as a number and its unit; its direction is told elsewhere. */
export function power(watts) {
  const size = Math.round(Math.abs(watts));
  if (size < 1000) return { number: whole.format(size), unit: "W" };
  return { number: (size < 9995 ? hundredths : tenths).format(size / 1000), unit: "kW" };
}

export function energy(kWh) {
  if (kWh === null) return NOTHING;
  const size = Math.abs(kWh);
  const digits = size < 9.995 ? hundredths : size < 99.95 ? tenths : whole;
  return `${digits.format(kWh)} kWh`;
}

/** An amount in pounds, or in the currency of this code. */
export function money(amount, currency = "GBP") {
  return amount === null ? NOTHING : inCurrency(currency).format(amount);
}

/** In pence below a pound. */
export function smallMoney(amount, currency = "GBP") {
  if (currency !== "GBP" || Math.abs(amount) >= 0.995) return money(amount, currency);
  return `${whole.format(amount * 100)}p`;
}

/** The price of a unit of energy: pence to a tenth. */
export function rate(amount, currency = "GBP") {
  if (currency !== "GBP") return money(amount, currency);
  return Math.abs(amount) >= 1 ? money(amount) : `${shortTenths.format(amount * 100)}p`;
}

export function axisNumber(value) {
  return shortest.format(value);
}

export function axisMoney(value) {
  return Number.isInteger(value) ? `£${whole.format(value)}` : smallMoney(value);
}

export function age(milliseconds) {
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
  write(form, instant) {
    return this.#formats[form].format(instant);
  }

  /** The time of day, with the day where that is not today. */
  moment(instant, now) {
    const time = this.write("minutes", instant);
    return this.write("day", instant) === this.write("day", now) ? time : `${this.write("day", instant)}, ${time}`;
  }

  /** The same of the end of something: midnight ends a day and does not begin one. */
  endMoment(instant, now) {
    if (this.write("minutes", instant) !== "00:00") return this.moment(instant, now);
    return `the end of ${this.write("day", instant - 1)}`;
  }
}

function inCurrency(currency) {
  if (!currencies.has(currency)) {
    currencies.set(currency, new Intl.NumberFormat("en-GB", { style: "currency", currency }));
  }
  return currencies.get(currency);
}
