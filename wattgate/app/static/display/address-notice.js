/** Says what in the address of the page is not known. It disappears by itself, because walls have no visitors. */

import { element, find } from "../shared/dom.js";
import { shorten } from "./address.js";
import { onNotationChange } from "./notation.js";
import { text } from "./texts.js";

/** @import { BadValue } from "./address.js" */

const SHOWN_MILLISECONDS = 60_000;

export class AddressNotice {
  /** @type {HTMLElement} */
  #notice;
  /** @type {(() => string)[]} */
  #messages = [];

  /** @param {HTMLElement} notice */
  constructor(notice) {
    this.#notice = notice;
    find(notice, "button").addEventListener("click", () => this.#hide());
    onNotationChange(() => this.#render());
  }

  /** @param {BadValue[]} badValues */
  showBadValues(badValues) {
    for (const { name, value, allowed } of badValues) {
      this.#add(() => text("kiosk.badValue", { name, value, allowed: allowed.join(", ") }));
    }
  }

  /**
   * Say that the account has no such home.
   * @param {string} home
   */
  showBadHome(home) {
    this.#add(() => text("kiosk.badHome", { value: shorten(home) }));
  }

  /** @param {() => string} message */
  #add(message) {
    this.#messages.push(message);
    this.#render();
    setTimeout(() => this.#hide(), SHOWN_MILLISECONDS);
  }

  #hide() {
    this.#messages = [];
    this.#render();
  }

  #render() {
    find(this.#notice, "ul").replaceChildren(...this.#messages.map((write) => element("li", {}, write())));
    this.#notice.hidden = this.#messages.length === 0;
  }
}
