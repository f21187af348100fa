/** The panel of guides: documents that open in a tab with the caller's own values, ready to run. */

import { element } from "../../shared/dom.js";
import { GUIDE_DOCUMENTS } from "./guide-documents.js";
import { prepareGuide } from "./guide-variables.js";
import { ownData } from "./own-data.js";

/** @import { Workspace } from "../workspace.js" */
/** @import { GuideDocument } from "./guide-documents.js" */

/** @type {import("../workspace.js").Panel} */
export const guidesPanel = {
  id: "guides",
  title: "Guides",
  icon: "M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h11M9 8h6",
  mount: (root, workspace) => void new GuidesView(root, workspace),
};

class GuidesView {
  #workspace;
  #list = element("div", { class: "guide-list" });
  #count = element("p", { class: "panel-note", role: "status", "data-testid": "guide-count" });

  /**
   * @param {HTMLElement} root
   * @param {Workspace} workspace
   */
  constructor(root, workspace) {
    this.#workspace = workspace;
    const search = element("input", {
      type: "search", placeholder: "Find a document", "aria-label": "Find a document of the guides", "data-testid": "guide-search",
    });
    search.addEventListener("input", () => this.#render(search.value));
    root.append(element("div", { class: "panel-search" }, search), this.#count, this.#list);
    this.#render("");
  }

  /** @param {string} words */
  #render(words) {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    const found = GUIDE_DOCUMENTS.filter((guide) => {
      const text = `${guide.pageTitle} ${guide.section} ${guide.name} ${guide.kind} ${guide.text}`.toLowerCase();
      return wanted.every((word) => text.includes(word));
    });
    this.#count.textContent = `${found.length} of ${GUIDE_DOCUMENTS.length} documents. They open with your own values.`;
    const titles = [...new Set(found.map(({ pageTitle }) => pageTitle))];
    const pages = titles.map((title) => this.#page(title, found.filter(({ pageTitle }) => pageTitle === title)));
    this.#list.replaceChildren(...pages);
  }

  /**
   * @param {string} title
   * @param {readonly GuideDocument[]} guides
   */
  #page(title, guides) {
    return element(
      "section",
      { class: "guide-page", "aria-label": title },
      element("h3", {}, title),
      element("ul", {}, guides.map((guide) => element("li", {}, this.#button(guide)))),
    );
  }

  /** @param {GuideDocument} guide */
  #button(guide) {
    const button = element(
      "button",
      { type: "button", class: "guide", "data-testid": "guide", "data-name": guide.name },
      element("span", { class: "guide-name" }, guide.name),
      element("span", { class: "guide-kind", "data-kind": guide.kind }, guide.kind),
      element("span", { class: "guide-section" }, guide.section),
    );
    button.addEventListener("click", () => void this.#open(guide));
    return button;
  }

  /** @param {GuideDocument} guide */
  async #open(guide) {
    const own = await ownData(this.#workspace);
    const { text, values, missing } = prepareGuide(guide.text, own, this.#workspace.schema, Date.now());
    const variables = Object.keys(values).length ? JSON.stringify(values, null, 2) : "";
    this.#workspace.openDocument({ title: guide.name, text, variables });
    this.#workspace.focusEditor();
    if (missing.length) this.#workspace.notify(`Before you run it, fill in: ${missing.join(", ")}.`);
    else if (guide.kind === "mutation") this.#workspace.notify("A mutation changes records. Check its values before you run it.");
  }
}
