/** Names the home that is shown, and lets a person with several choose; the browser remembers the choice. */

const KEY = "wattgate.home";

export class HomePicker {
  #select;
  #name;
  #homes = [];

  constructor(root, onSelect) {
    this.#select = root.querySelector("select");
    this.#name = root.querySelector(".home-name");
    this.#select.addEventListener("change", () => {
      localStorage.setItem(KEY, this.#select.value);
      onSelect(this.#homes.find((home) => home.veId === this.#select.value));
    });
  }

  /** Offer homes; the one to begin with, or undefined where there is none. */
  setHomes(homes) {
    this.#homes = homes;
    const lastHomeId = localStorage.getItem(KEY);
    const first = homes.find((home) => home.veId === lastHomeId) ?? homes[0];
    this.#select.replaceChildren(...homes.map((home) => new Option(home.name, home.veId, false, home === first)));
    this.#select.hidden = homes.length < 2;
    this.#name.hidden = homes.length >= 2;
    this.#name.textContent = first?.name ?? "";
    return first;
  }
}
