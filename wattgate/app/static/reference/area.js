/** An area of the interface: its operations on the page, and its line in the sidebar with their number. */

import { element, prose } from "../shared/dom.js";
import { OperationCard } from "./operation-card.js";

/** @import { AreaOperations } from "./areas.js" */
/** @import { PageContext } from "./operation-card.js" */

export class Area {
  /**
   * @param {AreaOperations} area
   * @param {PageContext} context
   */
  constructor({ id, name, description, operations }, context) {
    /** @type {OperationCard[]} */
    this.cards = operations.map((operation) => new OperationCard(operation, context));
    /** @type {HTMLElement} */
    this.section = element(
      "section",
      { class: "area", id, "aria-labelledby": `${id}-name` },
      element("h3", { id: `${id}-name` }, name),
      description ? element("p", { class: "area-description" }, prose(description)) : null,
      this.cards.map((card) => card.root),
    );
    const count = element("span", { class: "number" }, String(operations.length));
    /** @type {HTMLAnchorElement} The line in the sidebar. */
    this.link = element("a", { href: `#${id}` }, element("span", {}, name), " ", count);
  }

  /**
   * Mark the line in the sidebar as the position of the reader, or remove the mark.
   * @param {boolean} current
   */
  mark(current) {
    if (current) this.link.setAttribute("aria-current", "true");
    else this.link.removeAttribute("aria-current");
  }
}
