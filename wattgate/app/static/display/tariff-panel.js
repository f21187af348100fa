/** The price of electricity now, until when it holds, and the next one. */

import { now } from "./clock.js";
import { NOTHING, rate, smallMoney } from "./format.js";

export class TariffPanel {
  #section;

  constructor(section) {
    this.#section = section;
  }

  clear() {
    this.#section.hidden = false;
    this.#write(".amount", NOTHING);
    for (const part of [".basis", ".next", ".standing"]) this.#write(part, "");
    this.#part(".next").hidden = true;
  }

  show(tariff, wallClock) {
    this.#section.hidden = !tariff;
    if (!tariff) return;
    const { currency, next, standingCharge } = tariff;
    const changed = tariff.until && now() >= Date.parse(tariff.until);
    const held = changed ? (next && { rate: next.rate }) : tariff;
    const moment = (instant) => wallClock.moment(Date.parse(instant), now());
    this.#write(".amount", held ? rate(Number(held.rate), currency) : NOTHING);
    this.#write(".basis", held?.until ? `a kWh until ${moment(held.until)}` : "a kWh");
    this.#showNext(changed ? null : next, tariff, moment);
    this.#write(".standing", [tariff.name, daily(standingCharge, currency)].filter(Boolean).join(" · "));
  }

  #showNext(next, tariff, moment) {
    const part = this.#part(".next");
    part.hidden = !next;
    if (!next) return;
    const dearer = Number(next.rate) > Number(tariff.rate);
    part.dataset.change = dearer ? "dearer" : "cheaper";
    const change = `${rate(Number(next.rate), tariff.currency)} from ${moment(next.from)}`;
    this.#write(".next", `${change}, ${dearer ? "dearer" : "cheaper"}`);
  }

  #write(selector, text) {
    this.#part(selector).textContent = text;
  }

  #part(selector) {
    return this.#section.querySelector(selector);
  }
}

function daily(standingCharge, currency) {
  return standingCharge === null ? "" : `${smallMoney(Number(standingCharge), currency)} a day standing charge`;
}
