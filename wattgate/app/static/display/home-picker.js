/** Shows the name of the home, or lets a user with several homes select one. The browser stores the selection. */

import { find, findAs } from "../shared/dom.js";
import { findHome } from "./address.js";

/** @import { Home } from "../shared/gateway.js" */

const KEY = "wattgate.home";

export class HomePicker {
  /** @type {HTMLSelectElement} */
  #select;
  /** @type {HTMLElement} */
  #name;
  /** @type {Home[]} */
  #homes = [];
  /** @type {string | null} */
  #wanted;
  /** @type {(wanted: string) => void} */
  #onUnknown;

  /**
   * @param {HTMLElement} root
   * @param {(home: Home) => void} onSelect
   * @param {{ wanted: string | null, onUnknown(wanted: string): void }} address
   *   The ID or the name of the home that the address of the page asks for. `onUnknown` is called with it if the account
   *   does not have that home.
   */
  constructor(root, onSelect, { wanted, onUnknown }) {
    this.#wanted = wanted;
    this.#onUnknown = onUnknown;
    this.#select = findAs(root, "select", HTMLSelectElement);
    this.#name = find(root, ".home-name");
    this.#select.addEventListener("change", () => {
      localStorage.setItem(KEY, this.#select.value);
      this.#wanted = null;
      const home = this.#homes.find(({ homeId }) => homeId === this.#select.value);
      if (home) onSelect(home);
    });
  }

  /**
   * Offer homes. Return the one to show first, if there is one: that of the address, else the stored one, else the
   * first of the list.
   * @param {Home[]} homes
   * @returns {Home | undefined}
   */
  setHomes(homes) {
    this.#homes = homes;
    const storedId = localStorage.getItem(KEY);
    const first = this.#findWanted(homes) ?? homes.find((home) => home.homeId === storedId) ?? homes[0];
    this.#select.replaceChildren(...homes.map((home) => new Option(home.name, home.homeId, false, home === first)));
    this.#select.hidden = homes.length < 2;
    this.#name.hidden = homes.length >= 2;
    this.#name.textContent = first?.name ?? "";
    return first;
  }

  /** @param {Home[]} homes */
  #findWanted(homes) {
    const wanted = this.#wanted;
    if (!wanted || homes.length === 0) return undefined;
    const home = findHome(homes, wanted);
    if (!home) {
      this.#wanted = null;
      this.#onUnknown(wanted);
    }
    return home;
  }
}
