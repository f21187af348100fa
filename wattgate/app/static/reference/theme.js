/** A theme: its areas on the page under a heading, and in the sidebar. */

import { Area } from "./area.js";
import { element } from "../shared/dom.js";

export class Theme {
  constructor({ theme, areas }, reference) {
    this.areas = areas.map((area) => new Area(area, reference));
    this.section = element(
      "section",
      { class: "theme" },
      element("h2", {}, theme),
      this.areas.map((area) => area.section),
    );
    this.entry = element(
      "section",
      { "aria-label": theme },
      element("p", { class: "theme-name" }, theme),
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
