/** A panel with the energies and the cost of a period so far: today or this month. */

import { now } from "../shared/clock.js";
import { element, find, findAll } from "../shared/dom.js";
import { inclusionText, reasonText } from "./cost-basis.js";
import { NOTHING, energySymbol, formatEnergy, formatMoney, formatMoneyShort, formatShare } from "./format.js";
import { text } from "./texts.js";

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
    for (const name of [".basis", ".basis-short", ".complete-to"]) this.#part(name).textContent = "";
    for (const amount of findAll(this.#section, "dl > div > :last-child")) amount.textContent = NOTHING;
  }

  /**
   * Show a period of a frame.
   * @param {Period} period
   * @param {string} at  The instant of the frame.
   * @param {WallClock} wallClock
   */
  show(period, at, wallClock) {
    // After midnight, yesterday's amounts must disappear, even while the gateway cannot be reached.
    if (now() >= Date.parse(period.end)) {
      this.clear();
      return;
    }
    for (const name of ENERGIES) this.#showAmount(name, period[name]);
    const { cost, noCostReason } = period;
    const total = cost?.total;
    this.#part(".amount").textContent = total ? formatMoney(Number(total.amount)) : mainEnergy(period);
    const completeTo = completeMoment(period);
    const time = completeTo === null ? "" : wallClock.endMoment(completeTo, now());
    const charge = cost && total ? formatMoneyShort(Number(cost.standingChargesWithVat.amount)) : "";
    const reason = total ? "" : reasonText(noCostReason);
    const limits = limitTexts(period, at);
    // At each size, the line about the time or these words are shown.
    const moment = time && text("period.to", { time });
    this.#part(".basis").replaceChildren(...basisParts(total ? inclusionText(true, charge) : "", [reason, ...limits], moment));
    this.#part(".basis-short").replaceChildren(...basisParts(total ? inclusionText(true) : "", [reason, ...limits], moment));
    this.#part(".complete-to").textContent = time && text("period.completeTo", { time });
    this.#setLimitCount(limits.length);
  }

  /**
   * Say how many limits the basis names, so that the layout gives it room.
   * @param {number} count
   */
  #setLimitCount(count) {
    if (count) this.#section.dataset.limits = String(count);
    else delete this.#section.dataset.limits;
  }

  /**
   * @param {string} name
   * @param {EnergyAmount | null} amount  Null if the home does not measure this energy.
   */
  #showAmount(name, amount) {
    const row = this.#row(name);
    row.hidden = !amount;
    if (amount) find(row, ":scope > :last-child").textContent = energyText(amount);
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

/**
 * Return whether a period has an amount of energy. Without one, its data is not complete up to any moment.
 * @param {Pick<Period, "electricity" | "gas" | "exported">} period
 * @returns {boolean}
 */
export function hasEnergy(period) {
  return ENERGIES.some((name) => (period[name]?.energy ?? null) !== null);
}

/**
 * Return the moment up to which the data of a period is complete. Null if no part of it is complete yet.
 * @param {Pick<Period, "electricity" | "gas" | "exported" | "start" | "completeTo">} period
 * @returns {number | null}
 */
export function completeMoment(period) {
  const moment = hasEnergy(period) && period.completeTo ? Date.parse(period.completeTo) : null;
  return moment !== null && moment > Date.parse(period.start) ? moment : null;
}

/**
 * Return the energy that stands in for an unknown cost: that of the first meter.
 * @param {Pick<Period, "electricity" | "gas" | "exported">} period
 * @returns {string}
 */
export function mainEnergy(period) {
  const amount = period.electricity ?? period.gas ?? period.exported;
  return amount ? energyText(amount) : NOTHING;
}

/** @param {EnergyAmount} amount */
function energyText({ energy }) {
  return energy ? formatEnergy(Number(energy.value), energySymbol(energy.unit)) : NOTHING;
}

/**
 * Return the elements of a basis, with commas between them. The layout may hide the first and the last one.
 * @param {string} inclusion
 * @param {string[]} words
 * @param {string} moment
 * @returns {HTMLElement[]}
 */
function basisParts(inclusion, words, moment) {
  const said = words.filter(Boolean).join(", ");
  return [
    element("span", { class: "inclusion" }, inclusion && said ? `${inclusion}, ` : inclusion),
    element("span", {}, said),
    element("span", { class: "limit-time" }, moment && (inclusion || said) ? `, ${moment}` : moment),
  ];
}

/**
 * Return what makes the amounts of a period less than the truth, or not exact.
 * @param {Pick<Period, "start" | "electricity" | "gas" | "exported" | "cost" | "noCostReason">} period
 * @param {string} at  The instant of the frame.
 * @returns {string[]}
 */
export function limitTexts({ start, cost, noCostReason, ...energies }, at) {
  const amounts = ENERGIES.flatMap((name) => energies[name] ?? []);
  const unknown = Math.max(0, ...amounts.map((amount) => gapShare(amount, Date.parse(start), Date.parse(at))));
  const limits = [];
  // The total is then of standing charges alone.
  if (cost?.total && noCostReason) limits.push(reasonText(noCostReason));
  else if (cost?.total && cost.unpriced.length) limits.push(text("cost.unpriced"));
  if (cost?.estimated || amounts.some(({ estimated }) => estimated)) limits.push(text("cost.estimated"));
  if (unknown > 0) limits.push(text("period.unknown", { share: formatShare(unknown) }));
  return limits;
}

/** The gateway rounds a share to two decimals. */
const SHARE_STEP = 0.01;

/**
 * Return the share of the time in which an energy is not known. Zero if nothing is known after the time that is complete:
 * the moment up to which it is complete says so, and each energy is unknown since its newest reading.
 * @param {EnergyAmount} amount
 * @param {number} start
 * @param {number} at
 * @returns {number}
 */
function gapShare({ unknownShare, completeTo }, start, at) {
  const openShare = (at - Date.parse(completeTo)) / (at - start);
  return unknownShare && openShare - unknownShare > SHARE_STEP ? unknownShare : 0;
}
