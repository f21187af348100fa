/** What today has come to so far. */

import { now } from "./clock.js";
import { NOTHING, energy, money } from "./format.js";
import { today } from "./overview.js";

export class TodayPanel {
  #list;

  constructor(list) {
    this.#list = list;
  }

  clear() {
    for (const amount of this.#list.querySelectorAll(".amount")) amount.textContent = NOTHING;
  }

  show({ week, hasGas, hasCost, exports, standingChargeIncluded }) {
    const time = now();
    this.#fill("cost", money(today(week.cost, time)), hasCost);
    this.#fill("electricity", energy(today(week.energy, time)), true);
    this.#fill("gas", energy(today(week.gas, time)), hasGas);
    this.#fill("exported", energy(today(week.exported, time)), exports);
    this.#tile("cost").querySelector("small").textContent = standingChargeIncluded
      ? "includes standing charge"
      : "without standing charge";
  }

  #fill(name, text, visible) {
    const tile = this.#tile(name);
    tile.hidden = !visible;
    tile.querySelector(".amount").textContent = text;
  }

  #tile(name) {
    return this.#list.querySelector(`[data-tile="${name}"]`);
  }
}
