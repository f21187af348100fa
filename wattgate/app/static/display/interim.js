/**
 * Frames like those of the `display` subscription, made from queries and from live readings: until the gateway offers
 * that subscription.
 */

import { now } from "./clock.js";
import { readInterim } from "./gateway.js";
import { LiveReadings } from "./live.js";

const SECOND = 1000;
const REFRESH_EVERY = 300 * SECOND;

export class InterimLink {
  #agenda;
  #token;
  #on;
  #home = null;
  #live = null;
  #frame = null;

  constructor(agenda, token, handlers) {
    this.#agenda = agenda;
    this.#token = token;
    this.#on = handlers;
  }

  open(home, energies) {
    this.close();
    this.#home = { ...home, energies };
    this.#live = new LiveReadings(Object.values(energies), this.#token, {
      state: (state) => this.#on.state(state),
      ready: () => this.#refresh(),
      reading: (reading) => this.#receive(reading),
      denied: () => this.#on.tokenNeeded(),
    });
    this.#live.start();
  }

  close() {
    this.#live?.stop();
    this.#agenda.cancel("interim");
    this.#live = this.#frame = this.#home = null;
  }

  connect() {}

  present() {}

  async #refresh() {
    const home = this.#home;
    this.#agenda.in(REFRESH_EVERY, "interim", () => this.#refresh());
    const zone = home.timeZone ?? "Europe/London";
    const answer = await readInterim(this.#token(), home.energies, { at: now(), zone }).catch(() => null);
    if (!answer || home !== this.#home) return;
    const before = this.#frame;
    this.#frame = frameOf(answer, home);
    if (before && before.power?.at > this.#frame.power?.at) this.#frame.power = before.power;
    this.#tell(!before);
  }

  #receive(reading) {
    if (reading.field !== "POWER") return this.#agenda.in((1 + Math.random() * 4) * SECOND, "interim", () => this.#refresh());
    if (!this.#frame || reading.resourceId !== this.#home.energies.electricity) return;
    this.#frame = { ...this.#frame, power: powerOf(reading) };
    this.#tell(false);
  }

  #tell(first) {
    const freshness = { ...this.#frame.freshness, asOf: this.#frame.power?.at ?? null };
    this.#on.frame({ display: { ...this.#frame, at: new Date(now()).toISOString(), freshness } }, first);
  }
}

function frameOf(answer, home) {
  const { electricity } = answer;
  const rates = electricity?.currentRates;
  return {
    timeZone: home.timeZone,
    unreadAlerts: 0,
    power: electricity?.current?.field === "POWER" ? powerOf(electricity.current) : null,
    today: period(answer, "today", "todayCosts"),
    month: period(answer, "month", "monthCosts"),
    ambient: null,
    tariff: rates?.rate
      ? { name: null, rate: rates.rate / 100, standingCharge: rates.standingCharge / 100, currency: "GBP", until: null, next: null }
      : null,
    freshness: { state: "LIVE", asOf: null, expectedEverySeconds: 10, cause: null },
  };
}

function period(answer, readings, costs) {
  const last = (name) => answer[name]?.[readings].buckets.at(-1);
  const energy = (name) => (last(name)?.value == null ? null : { value: last(name).value });
  const priced = ["electricity", "gas"].map((name) => answer[name]?.[costs]?.buckets.at(-1)).filter(Boolean);
  const known = priced.filter((bucket) => bucket.energy !== null);
  const sum = (name) => priced.reduce((total, bucket) => total + Number(bucket[name] ?? 0), 0) / 100;
  return {
    end: last("electricity")?.end ?? last("gas")?.end,
    completeTo: answer.electricity?.[readings].completeTo ?? null,
    electricity: energy("electricity"),
    gas: energy("gas"),
    exported: energy("exported"),
    cost: known.length
      ? { total: sum("energy") + sum("standingCharge"), standingCharge: sum("standingCharge"), currency: "GBP", estimated: false }
      : null,
  };
}

function powerOf({ unit, at, value }) {
  return { net: value, unit, at };
}
