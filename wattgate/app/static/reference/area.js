/** An area of the interface: its operations on the page, and its line in the sidebar with their number. */

import { element } from "../shared/dom.js";
import { OperationCard } from "./operation-card.js";

/** @import { AreaOperations } from "./areas.js" */
/** @import { Reference } from "./openapi.js" */

export class Area {
  /** @type {HTMLElement} */
  #count;

  /**
   * @param {AreaOperations} area
   * @param {Reference} reference
   */
  constructor({ tag, name, operations }, reference) {
    const id = `area-${tag}`;
    /** @type {OperationCard[]} */
    this.cards = operations.map((operation) => new OperationCard(operation, reference));
    /** @type {HTMLElement} */
    this.section = element(
      "section",
      { class: "area", id, "aria-labelledby": `${id}-name` },
      element("h3", { id: `${id}-name` }, name, " ", element("code", {}, `/${tag}`)),
      this.cards.map((card) => card.root),
    );
    this.#count = element("span", { class: "number" });
    /** @type {HTMLAnchorElement} The line in the sidebar. */
    this.link = element("a", { href: `#${id}` }, element("span", {}, name), " ", this.#count);
    this.#showCount(this.cards.length);
  }

  /**
   * Show only the operations that have all these words. Return their number.
   * @param {string[]} words
   * @returns {number}
   */
  filter(words) {
    const matches = this.cards.filter((card) => card.match(words)).length;
    this.#showCount(matches);
    return matches;
  }

  /**
   * Mark the line in the sidebar as the position of the reader, or remove the mark.
   * @param {boolean} current
   */
  mark(current) {
    if (current) this.link.setAttribute("aria-current", "true");
    else this.link.removeAttribute("aria-current");
  }

  /** @param {number} count */
  #showCount(count) {
    this.#count.textContent = String(count);
    this.section.hidden = this.link.hidden = count === 0;
  }
}
