/** A theme: its areas on the page under a heading, and in the sidebar. */

import { Area } from "./area.js";
import { element } from "../shared/dom.js";

export class AreaGroup {
  constructor({ name, areas }, reference) {
    this.areas = areas.map((area) => new Area(area, reference));
    this.section = element(
      "section",
      { class: "area-group" },
      element("h2", {}, name),
      this.areas.map((area) => area.section),
    );
    this.entry = element(
      "section",
      { "aria-label": name },
      element("p", { class: "group-name" }, name),
      element("ul", {}, this.areas.map(({ link }) => element("li", {}, link))),
    );
  }

  /** Show the operations that have all these words; how many there are. */
  filter(words) {
    const shown = this.areas.reduce((sum, area) => sum + area.filter(words), 0);
    this.section.hidden = this.entry.hidden = shown === 0;
    return shown;
  }
}
