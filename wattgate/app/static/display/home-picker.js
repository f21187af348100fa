/** Shows the name of the home, or lets a user with several homes select one. The browser stores the selection. */

import { find, findAs } from "../shared/dom.js";

/** @import { Home } from "../shared/gateway.js" */

const KEY = "wattgate.home";

export class HomePicker {
  /** @type {HTMLSelectElement} */
  #select;
  /** @type {HTMLElement} */
  #name;
  /** @type {Home[]} */
  #homes = [];

  /**
   * @param {HTMLElement} root
   * @param {(home: Home) => void} onSelect
   */
  constructor(root, onSelect) {
    this.#select = findAs(root, "select", HTMLSelectElement);
    this.#name = find(root, ".home-name");
    this.#select.addEventListener("change", () => {
      localStorage.setItem(KEY, this.#select.value);
      const home = this.#homes.find(({ veId }) => veId === this.#select.value);
      if (home) onSelect(home);
    });
  }

  /**
   * Offer homes. Return the one to show first: the stored one, else the first of the list, if there is one.
   * @param {Home[]} homes
   * @returns {Home | undefined}
   */
  setHomes(homes) {
    this.#homes = homes;
    const storedId = localStorage.getItem(KEY);
    const first = homes.find((home) => home.veId === storedId) ?? homes[0];
    this.#select.replaceChildren(...homes.map((home) => new Option(home.name, home.veId, false, home === first)));
    this.#select.hidden = homes.length < 2;
    this.#name.hidden = homes.length >= 2;
    this.#name.textContent = first?.name ?? "";
    return first;
  }
}
