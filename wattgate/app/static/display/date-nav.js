/** The buttons and keys that move the history to earlier ranges and back. Page Up and Page Down do the same. */

import { findAs } from "../shared/dom.js";
import { text } from "./texts.js";

/** @import { ViewName } from "./history.js" */

export class DateNav {
  /** @type {HTMLButtonElement} */
  #earlier;
  /** @type {HTMLButtonElement} */
  #later;
  /** @type {HTMLButtonElement} */
  #newest;
  /** @type {() => void} */
  #onChange;
  #steps = 0;
  #canGoBack = false;

  /**
   * @param {HTMLElement} section  The keys work in it.
   * @param {() => void} onChange  Called after the user has moved.
   */
  constructor(section, onChange) {
    /** @param {string} name */
    const button = (name) => findAs(section, `.${name}`, HTMLButtonElement);
    [this.#earlier, this.#later, this.#newest] = ["earlier", "later", "newest"].map(button);
    this.#onChange = onChange;
    this.#earlier.addEventListener("click", () => this.#moveTo(this.#steps + 1));
    this.#later.addEventListener("click", () => this.#moveTo(this.#steps - 1));
    this.#newest.addEventListener("click", () => this.#moveTo(0));
    section.addEventListener("keydown", (event) => this.#onKey(event));
  }

  /** How many steps the range is before the newest one. */
  get steps() {
    return this.#steps;
  }

  /**
   * Name the buttons by the step of a view, and say whether there are readings before the range.
   * @param {ViewName} view
   * @param {boolean} canGoBack
   */
  update(view, canGoBack) {
    this.#canGoBack = canGoBack;
    setLabel(this.#earlier, text(`dates.${view}Back`));
    setLabel(this.#later, text(`dates.${view}On`));
    // A disabled button would lose the focus, so it stays focusable and says that it does nothing.
    this.#earlier.setAttribute("aria-disabled", String(!canGoBack));
    this.#later.setAttribute("aria-disabled", String(this.#steps === 0));
    this.#newest.hidden = this.#steps === 0;
  }

  /** Go back to the newest range, without a call of `onChange`. */
  reset() {
    this.#steps = 0;
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.key !== "PageUp" && event.key !== "PageDown") return;
    event.preventDefault();
    this.#moveTo(this.#steps + (event.key === "PageUp" ? 1 : -1));
  }

  /** @param {number} steps */
  #moveTo(steps) {
    if (steps < 0 || steps === this.#steps || (steps > this.#steps && !this.#canGoBack)) return;
    if (steps === 0 && document.activeElement === this.#newest) this.#earlier.focus();
    this.#steps = steps;
    // Until the range is read, it is not known whether there are readings before it.
    this.#canGoBack = false;
    this.#onChange();
  }
}

/**
 * @param {HTMLElement} button
 * @param {string} label
 */
function setLabel(button, label) {
  button.setAttribute("aria-label", label);
  button.title = label;
}
