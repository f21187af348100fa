/** An area: its operations on the page, and its line in the sidebar, which counts those that are shown. */

import { element } from "../shared/dom.js";
import { OperationCard } from "./operation-card.js";

export class Area {
  #count;

  constructor({ tag, name, operations }, reference) {
    const id = `area-${tag}`;
    this.cards = operations.map((operation) => new OperationCard(operation, reference));
    this.section = element(
      "section",
      { class: "area", id, "aria-labelledby": `${id}-name` },
      element("h3", { id: `${id}-name` }, name, " ", element("code", {}, `/${tag}`)),
      this.cards.map((card) => card.root),
    );
    this.#count = element("span", { class: "number" });
    this.link = element("a", { href: `#${id}` }, element("span", {}, name), " ", this.#count);
    this.#show(this.cards.length);
  }

  /** Show the operations that have all these words; how many there are. */
  filter(words) {
    const shown = this.cards.filter((card) => card.match(words)).length;
    this.#show(shown);
    return shown;
  }

  /** Mark the line in the sidebar as where the reader is. */
  mark(current) {
    if (current) this.link.setAttribute("aria-current", "true");
    else this.link.removeAttribute("aria-current");
  }

  #show(count) {
    this.#count.textContent = count;
    this.section.hidden = this.link.hidden = count === 0;
  }
}
