/** The tariff panel: the current price of electricity, when it changes, the next price, and the carbon intensity. */

import { now } from "../shared/clock.js";
import { find, setText } from "../shared/dom.js";
import { carbonText } from "./carbon.js";
import { reasonText } from "./cost-basis.js";
import { NOTHING, energySymbol, formatRate } from "./format.js";
import { text } from "./texts.js";

/** @import { WallClock } from "./format.js" */
/** @import { Carbon, Tariff } from "./subscription.js" */

/**
 * Return the price at an instant, and its end where it is known. After the end of the tariff's current price, its next
 * price applies; the price is null if there is none.
 * @param {Tariff} tariff
 * @param {number} instant
 * @returns {{ rate: string | null, until: string | null }}
 */
export function currentRate({ rateWithVat, until, next }, instant) {
  if (until === null || instant < Date.parse(until)) return { rate: rateWithVat?.amount ?? null, until };
  return { rate: next?.rateWithVat.amount ?? null, until: null };
}

/**
 * Return the next price while it is still in the future, and whether it is higher. A price counts as not higher while
 * there is no current one.
 * @param {Tariff} tariff
 * @param {number} instant
 * @returns {{ start: string, rate: string, change: "dearer" | "cheaper" } | null}
 */
export function nextRate({ rateWithVat, until, next }, instant) {
  if (!next || (until !== null && instant >= Date.parse(until))) return null;
  const rate = next.rateWithVat.amount;
  const change = Number(rate) > Number(rateWithVat?.amount ?? rate) ? "dearer" : "cheaper";
  return { start: next.start, rate, change };
}

export class TariffPanel {
  /** @type {HTMLElement} */
  #section;

  /** @param {HTMLElement} section */
  constructor(section) {
    this.#section = section;
  }

  /** Remove all prices. */
  clear() {
    this.#section.hidden = false;
    this.#showNoPrice("");
    this.#showCarbon(null);
  }

  /**
   * Show a tariff and the carbon intensity. Without both of them, hide the panel.
   * @param {{ tariff: Tariff | null, carbon: Carbon | null }} present
   * @param {WallClock} wallClock
   */
  show({ tariff, carbon }, wallClock) {
    this.#section.hidden = !tariff && !carbon;
    if (tariff) this.#showTariff(tariff, wallClock);
    else this.#showNoPrice(reasonText("NO_TARIFF"));
    this.#showCarbon(carbon);
  }

  /**
   * @param {Tariff} tariff
   * @param {WallClock} wallClock
   */
  #showTariff(tariff, wallClock) {
    const time = now();
    const { rate, until } = currentRate(tariff, time);
    const unit = energySymbol(tariff.per);
    const end = until && wallClock.moment(Date.parse(until), time);
    this.#setText("amount", formatRate(rate));
    this.#setText("basis", end ? text("tariff.perUntil", { unit, time: end }) : text("tariff.per", { unit }));
    const amount = formatRate(tariff.standingChargeWithVat.amount);
    this.#setText("standing", text("tariff.standing", { name: tariff.name, amount }));
    this.#showNext(nextRate(tariff, time), wallClock);
  }

  /** @param {string} reason */
  #showNoPrice(reason) {
    this.#setText("amount", NOTHING);
    this.#setText("basis", reason);
    this.#setText("standing", "");
    this.#part("next").hidden = true;
  }

  /** @param {Carbon | null} carbon */
  #showCarbon(carbon) {
    const words = carbonText(carbon);
    this.#part("carbon").hidden = !words;
    this.#part("carbon").dataset.index = carbon?.index ?? "";
    this.#setText("carbon-value", words);
  }

  /**
   * @param {ReturnType<typeof nextRate>} next
   * @param {WallClock} wallClock
   */
  #showNext(next, wallClock) {
    const part = this.#part("next");
    part.hidden = !next;
    if (!next) return;
    part.dataset.change = next.change;
    const time = wallClock.moment(Date.parse(next.start), now());
    this.#setText("next", text(`tariff.${next.change}`, { rate: formatRate(next.rate), time }));
  }

  /**
   * @param {string} name
   * @param {string} words
   */
  #setText(name, words) {
    setText(this.#part(name), words);
  }

  /** @param {string} name */
  #part(name) {
    return find(this.#section, `.${name}`);
  }
}
