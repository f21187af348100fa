/** What a period, today or this month, has come to so far. */

import { now } from "../shared/clock.js";
import { NOTHING, formatEnergy, formatMoney, formatMoneyShort } from "./format.js";

const ENERGIES = ["electricity", "gas", "exported"];

export class PeriodPanel {
  #section;

  constructor(section) {
    this.#section = section;
  }

  /** Begin with a home that has these energies, so that nothing moves when their amounts come. */
  setEnergies(energies) {
    for (const name of ENERGIES) this.#row(name).hidden = !(name in energies);
  }

  clear() {
    this.#part(".amount").textContent = NOTHING;
    this.#part(".basis").textContent = this.#part(".complete-to").textContent = "";
    for (const row of this.#section.querySelectorAll("dl > div")) row.lastElementChild.textContent = NOTHING;
  }

  /** Show a period of a frame. */
  show(period, wallClock) {
    // Just after midnight yesterday's amounts must go, even while the gateway is away.
    if (now() >= Date.parse(period.end)) return this.clear();
    for (const name of ENERGIES) this.#showAmount(name, period[name]);
    const { cost } = period;
    this.#part(".cost").hidden = !cost;
    if (cost) this.#part(".amount").textContent = formatMoney(number(cost.total));
    this.#part(".basis").textContent = cost ? basis(cost) : "";
    const to = period.completeTo && wallClock.endMoment(Date.parse(period.completeTo), now());
    this.#part(".complete-to").textContent = to ? `Complete up to ${to}` : "";
  }

  /** Show an amount; null where the home does not measure it. */
  #showAmount(name, amount) {
    const row = this.#row(name);
    row.hidden = !amount;
    if (amount) row.lastElementChild.textContent = formatEnergy(number(amount.value), amount.unit);
  }

  #row(name) {
    return this.#part(`[data-energy="${name}"]`);
  }

  #part(selector) {
    return this.#section.querySelector(selector);
  }
}

function number(value) {
  return value === null ? null : Number(value);
}

function basis({ standingCharge, estimated }) {
  const included = `incl. ${formatMoneyShort(Number(standingCharge))} standing charge`;
  return estimated ? `${included}, partly estimated` : included;
}
