/** The price of electricity now, until when it holds, and the next one. */

import { now } from "../shared/clock.js";
import { NOTHING, formatRate } from "./format.js";

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
    const { next } = tariff;
    const changed = tariff.until && now() >= Date.parse(tariff.until);
    const current = changed ? (next && { rate: next.rate }) : tariff;
    const moment = (instant) => wallClock.moment(Date.parse(instant), now());
    this.#write(".amount", current ? formatRate(current.rate) : NOTHING);
    const unit = `a ${tariff.unit.split("/").at(-1)}`;
    this.#write(".basis", current?.until ? `${unit} until ${moment(current.until)}` : unit);
    this.#showNext(changed ? null : next, tariff, moment);
    this.#write(".standing", `${tariff.name} · ${formatRate(tariff.standingCharge)} a day standing charge`);
  }

  #showNext(next, tariff, moment) {
    const part = this.#part(".next");
    part.hidden = !next;
    if (!next) return;
    const change = Number(next.rate) > Number(tariff.rate ?? next.rate) ? "dearer" : "cheaper";
    part.dataset.change = change;
    this.#write(".next", `${formatRate(next.rate)} from ${moment(next.start)}, ${change}`);
  }

  #write(selector, text) {
    this.#part(selector).textContent = text;
  }

  #part(selector) {
    return this.#section.querySelector(selector);
  }
}
