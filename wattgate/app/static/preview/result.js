/** The rendered template except the mail itself: its row in an inbox, its text, and the cultures that it covers. */

import { element, find, findAll } from "../shared/dom.js";

/** @import { RenderedTemplate } from "./templates.js" */

export class Result {
  /** @type {HTMLElement} */
  #root;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
  }

  /**
   * Show one panel: the mail, its text or the cultures.
   * @param {string} name
   */
  setView(name) {
    for (const panel of findAll(this.#root, ".result-panel")) panel.hidden = panel.dataset.view !== name;
  }

  /**
   * Show a rendered template.
   * @param {RenderedTemplate} rendered
   */
  show({ subject, preheader, text, textMade, culturesTried, chosen, coverage }) {
    this.#setText("[data-testid=rendered-subject]", subject || "(no subject)");
    this.#setText("[data-testid=rendered-preheader]", preheader ?? "");
    this.#setText(".text-origin", textMade ? "Generated from the HTML" : "The template’s own text");
    this.#setText(".plain pre", text ?? "The text cannot be rendered.");
    this.#setList(".cultures-tried", culturesTried);
    const selected = chosen && `This reader gets “${chosen.name}” in ${chosen.cultureCode}.`;
    this.#setText(".selected-template", selected ?? "No active template matches this reader.");
    const covered = coverage.map(({ cultureCode, template }) => {
      return `${cultureCode}: ${template.name}${template.active ? "" : " (inactive)"}`;
    });
    this.#setList(".coverage", covered);
  }

  /**
   * @param {string} selector
   * @param {string} text
   */
  #setText(selector, text) {
    find(this.#root, selector).textContent = text;
  }

  /**
   * @param {string} selector
   * @param {string[]} texts
   */
  #setList(selector, texts) {
    find(this.#root, selector).replaceChildren(...texts.map((text) => element("li", {}, text)));
  }
}
