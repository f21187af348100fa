/** A line below the header that says what happened, with a button that reverses it. */

import { find, findAs } from "../shared/dom.js";

/** @typedef {{ label: string, run: () => void }} NoticeAction */

export class NoticeBar {
  /** @type {HTMLElement} */
  #root;
  /** @type {NoticeAction | null} */
  #action = null;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
    find(root, ".act").addEventListener("click", () => {
      const action = this.#action;
      this.hide();
      action?.run();
    });
    find(root, ".dismiss").addEventListener("click", () => this.hide());
  }

  /**
   * Show a notice until another one follows or it is dismissed.
   * @param {string} text
   * @param {NoticeAction | null} [action]
   * @param {"good" | "bad"} [tone]
   */
  show(text, action = null, tone = "good") {
    this.#action = action;
    this.#root.dataset.tone = tone;
    find(this.#root, ".text").textContent = text;
    const button = findAs(this.#root, ".act", HTMLButtonElement);
    button.hidden = action === null;
    button.textContent = action?.label ?? "";
    this.#root.hidden = false;
  }

  hide() {
    this.#action = null;
    this.#root.hidden = true;
  }
}
