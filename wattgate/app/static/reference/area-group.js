/** A group of areas: on the page under a heading, and in the sidebar. */

import { element } from "../shared/dom.js";
import { Area } from "./area.js";

/** @import { AreaGroupOperations } from "./areas.js" */
/** @import { PageContext } from "./operation-card.js" */

export class AreaGroup {
  /**
   * @param {AreaGroupOperations} group
   * @param {PageContext} context
   */
  constructor({ name, areas }, context) {
    /** @type {Area[]} */
    this.areas = areas.map((area) => new Area(area, context));
    /** @type {HTMLElement} */
    this.section = element(
      "section",
      { class: "area-group" },
      element("h2", {}, name),
      this.areas.map((area) => area.section),
    );
    /** @type {HTMLElement} The part of the sidebar. */
    this.entry = element(
      "div",
      { class: "group-entry", role: "group", "aria-label": name },
      element("p", { class: "group-name" }, name),
      element("ul", {}, this.areas.map(({ link }) => element("li", {}, link))),
    );
  }
}
