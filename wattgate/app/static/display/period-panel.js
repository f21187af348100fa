/** What a period, today or this month, has come to so far. */

import { now } from "./clock.js";
import { NOTHING, energy, money, smallMoney } from "./format.js";

const ENERGIES = ["electricity", "gas", "exported"];

export class PeriodPanel {
  #section;

  constructor(section) {
    this.#section = section;
  }

  clear() {
    this.#part(".amount").textContent = NOTHING;
    this.#part(".basis").textContent = this.#part(".complete-to").textContent = "";
    for (const row of this.#section.querySelectorAll("dl > div")) row.lastElementChild.textContent = NOTHING;
  }

  /** Show a period of a frame; `fuels` are the energies that the home has. */
  show(period, fuels, wallClock) {
    // Just after midnight yesterday's amounts must go, even while the gateway is away.
    if (now() >= Date.parse(period.end)) return this.clear();
    for (const name of ENERGIES) this.#fill(name, period[name], fuels.has(name));
    const { cost } = period;
    this.#part(".cost").hidden = !cost;
    if (cost) this.#part(".amount").textContent = money(Number(cost.total), cost.currency);
    this.#part(".basis").textContent = cost ? basis(cost) : "";
    const to = period.completeTo && wallClock.endMoment(Date.parse(period.completeTo), now());
    this.#part(".complete-to").textContent = to ? `Complete up to ${to}` : "";
  }

  #fill(name, amount, present) {
    const row = this.#part(`[data-energy="${name}"]`);
    row.hidden = !present;
    row.lastElementChild.textContent = amount ? energy(Number(amount.value)) : NOTHING;
  }

  #part(selector) {
    return this.#section.querySelector(selector);
  }
}

function basis({ standingCharge, currency, estimated }) {
  const included = `incl. ${smallMoney(Number(standingCharge), currency)} standing charge`;
  return estimated ? `${included}, partly estimated` : included;
}
