/** Numbers, money and times as people in Britain read them. */

export const NOTHING = "–";

const decimals = (digits) =>
  new Intl.NumberFormat("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const [whole, tenths, hundredths] = [0, 1, 2].map(decimals);
const pounds = new Intl.NumberFormat("en-GB", { style: "currency", currency: "GBP" });
const shortest = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 2 });

/** The size of a power in watts, as a number and its unit; its direction is told elsewhere. */
export function power(watts) {
  const size = Math.round(Math.abs(watts));
  if (size < 1000) return { number: whole.format(size), unit: "W" };
  return { number: (size < 9995 ? hundredths : tenths).format(size / 1000), unit: "kW" };
}

export function energy(kWh) {
  if (kWh === null) return NOTHING;
  const digits = kWh < 9.995 ? hundredths : kWh < 99.95 ? tenths : whole;
  return `${digits.format(kWh)} kWh`;
}

export function money(amount) {
  return amount === null ? NOTHING : pounds.format(amount);
}

/** Below a pound in pence. */
export function smallMoney(amount) {
  return amount < 0.995 ? `${whole.format(amount * 100)}p` : money(amount);
}

export function axisNumber(value) {
  return shortest.format(value);
}

export function axisMoney(value) {
  return Number.isInteger(value) ? `£${value}` : pounds.format(value);
}

export function age(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 120) return `${seconds} s ago`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} hours ago`;
  return `${Math.floor(seconds / 86_400)} days ago`;
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
      date: format({ weekday: "long", day: "numeric", month: "long" }),
    };
  }

  minutes(instant) {
    return this.#formats.minutes.format(instant);
  }

  seconds(instant) {
    return this.#formats.seconds.format(instant);
  }

  weekday(instant) {
    return this.#formats.weekday.format(instant);
  }

  date(instant) {
    return this.#formats.date.format(instant);
  }
}
