/** A panel with the energies and the cost of a period so far: today or this month. */

import { now } from "../shared/clock.js";
import { find, findAll } from "../shared/dom.js";
import { NOTHING, formatEnergy, formatMoney, formatMoneyShort } from "./format.js";

/** @import { ResourceIds } from "../shared/gateway.js" */
/** @import { WallClock } from "./format.js" */
/** @import { EnergyAmount, Period } from "./subscription.js" */

const ENERGIES = /** @type {const} */ (["electricity", "gas", "exported"]);

export class PeriodPanel {
  /** @type {HTMLElement} */
  #section;

  /** @param {HTMLElement} section */
  constructor(section) {
    this.#section = section;
  }

  /**
   * Show the rows of a home's energies before their amounts are known, so that the layout does not change later.
   * @param {ResourceIds} energies
   */
  setEnergies(energies) {
    for (const name of ENERGIES) this.#row(name).hidden = !(name in energies);
  }

  /** Remove all amounts. */
  clear() {
    this.#part(".amount").textContent = NOTHING;
    this.#part(".basis").textContent = this.#part(".complete-to").textContent = "";
    for (const amount of findAll(this.#section, "dl > div > :last-child")) amount.textContent = NOTHING;
  }

  /**
   * Show a period of a frame.
   * @param {Period} period
   * @param {WallClock} wallClock
   */
  show(period, wallClock) {
    // After midnight, yesterday's amounts must disappear, even while the gateway cannot be reached.
    if (now() >= Date.parse(period.end)) {
      this.clear();
      return;
    }
    for (const name of ENERGIES) this.#showAmount(name, period[name]);
    const { cost } = period;
    this.#part(".cost").hidden = !cost;
    if (cost) this.#part(".amount").textContent = formatMoney(toNumber(cost.total));
    this.#part(".basis").textContent = cost ? basisText(cost) : "";
    const to = period.completeTo && wallClock.endMoment(Date.parse(period.completeTo), now());
    this.#part(".complete-to").textContent = to ? `Complete up to ${to}` : "";
  }

  /**
   * @param {string} name
   * @param {EnergyAmount | null} amount  Null if the home does not measure this energy.
   */
  #showAmount(name, amount) {
    const row = this.#row(name);
    row.hidden = !amount;
    if (amount) find(row, ":scope > :last-child").textContent = formatEnergy(toNumber(amount.value), amount.unit);
  }

  /** @param {string} name */
  #row(name) {
    return this.#part(`[data-energy="${name}"]`);
  }

  /** @param {string} selector */
  #part(selector) {
    return find(this.#section, selector);
  }
}

/** @param {string | null} value */
function toNumber(value) {
  return value === null ? null : Number(value);
}

/** @param {{ standingCharge: string, estimated: boolean }} cost */
function basisText({ standingCharge, estimated }) {
  const included = `incl. ${formatMoneyShort(Number(standingCharge))} standing charge`;
  return estimated ? `${included}, partly estimated` : included;
}
