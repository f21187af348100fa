/** A group of areas: on the page under a heading, and in the sidebar. */

import { element } from "../shared/dom.js";
import { Area } from "./area.js";

/** @import { AreaGroupOperations } from "./areas.js" */
/** @import { Reference } from "./openapi.js" */

export class AreaGroup {
  /**
   * @param {AreaGroupOperations} group
   * @param {Reference} reference
   */
  constructor({ name, areas }, reference) {
    /** @type {Area[]} */
    this.areas = areas.map((area) => new Area(area, reference));
    /** @type {HTMLElement} */
    this.section = element(
      "section",
      { class: "area-group" },
      element("h2", {}, name),
      this.areas.map((area) => area.section),
    );
    /** @type {HTMLElement} The part of the sidebar. */
    this.entry = element(
      "section",
      { "aria-label": name },
      element("p", { class: "group-name" }, name),
      element("ul", {}, this.areas.map(({ link }) => element("li", {}, link))),
    );
  }

  /**
   * Show only the operations that have all these words. Return their number.
   * @param {string[]} words
   * @returns {number}
   */
  filter(words) {
    const matches = this.areas.reduce((sum, area) => sum + area.filter(words), 0);
    this.section.hidden = this.entry.hidden = matches === 0;
    return matches;
  }
}
