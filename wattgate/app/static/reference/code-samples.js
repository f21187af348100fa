/** The request of a form as code: curl, JavaScript and Python. */

import { element } from "../shared/dom.js";
import { nextTab } from "../shared/tab-keys.js";
import { copyButton } from "./code-block.js";
import { curlCommand } from "./curl.js";
import { javascriptCode } from "./javascript.js";
import { pythonCode } from "./python.js";

/** @import { RequestPlan } from "./request.js" */

/** @type {{ id: string, name: string, write: (plan: RequestPlan) => string }[]} */
const LANGUAGES = [
  { id: "curl", name: "curl", write: curlCommand },
  { id: "javascript", name: "JavaScript", write: javascriptCode },
  { id: "python", name: "Python", write: pythonCode },
];
/** The key of the language that the user chose last. */
const LANGUAGE_KEY = "wattgate.reference.language";

export class CodeSamples {
  /** @type {string} */
  #id;
  /** @type {(reveal: boolean) => RequestPlan} */
  #plan;
  /** @type {() => boolean} */
  #hasSecrets;
  #chosen = LANGUAGES[0];
  #code = element("code", { "data-testid": "code" });
  /** @type {HTMLElement} */
  #listing;
  /** @type {HTMLElement[]} */
  #tabs;
  #reveal = element("input", { type: "checkbox", "data-testid": "reveal-secrets" });
  #revealRow = element("label", { class: "reveal" }, this.#reveal, " Put my secrets into the code");

  /**
   * @param {string} id  Of the operation.
   * @param {(reveal: boolean) => RequestPlan} plan  Returns the request, with secrets if `reveal` is true.
   * @param {() => boolean} hasSecrets  Returns whether there is a secret that the code leaves out.
   */
  constructor(id, plan, hasSecrets) {
    this.#id = id;
    this.#plan = plan;
    this.#hasSecrets = hasSecrets;
    this.#tabs = LANGUAGES.map((language) => this.#tab(language));
    const bar = element("div", { class: "tabs", role: "tablist", "aria-label": "Language" }, this.#tabs);
    this.#listing = element("pre", { id: `${id}-code`, role: "tabpanel", tabindex: "0" }, this.#code);
    const copy = copyButton(() => this.#code.textContent ?? "", this.#listing);
    /** @type {HTMLElement} */
    this.root = element(
      "div",
      { class: "code-block code-samples" },
      element("div", { class: "bar" }, bar, copy),
      this.#listing,
      this.#revealRow,
    );
    this.#reveal.addEventListener("change", () => this.show());
    this.#choose(LANGUAGES.find((language) => language.id === localStorage.getItem(LANGUAGE_KEY)) ?? LANGUAGES[0]);
  }

  /** Write the code of the request as it is now. */
  show() {
    const stored = localStorage.getItem(LANGUAGE_KEY);
    if (stored !== this.#chosen.id) {
      // Another operation may have chosen another language since.
      const language = LANGUAGES.find(({ id }) => id === stored);
      if (language) return this.#choose(language);
    }
    this.#revealRow.hidden = !this.#hasSecrets();
    this.#code.textContent = this.#chosen.write(this.#plan(this.#reveal.checked && !this.#revealRow.hidden));
  }

  /** @param {(typeof LANGUAGES)[number]} language */
  #tab(language) {
    const tab = element(
      "button",
      { type: "button", role: "tab", id: `${this.#id}-${language.id}`, "aria-controls": `${this.#id}-code`, "data-testid": `language-${language.id}` },
      language.name,
    );
    tab.addEventListener("click", () => this.#pick(language));
    tab.addEventListener("keydown", (event) => this.#onKey(event));
    return tab;
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const next = nextTab(this.#tabs, event);
    if (!next) return;
    event.preventDefault();
    this.#pick(LANGUAGES[this.#tabs.indexOf(next)]);
    next.focus();
  }

  /** @param {(typeof LANGUAGES)[number]} language */
  #pick(language) {
    localStorage.setItem(LANGUAGE_KEY, language.id);
    this.#choose(language);
  }

  /** @param {(typeof LANGUAGES)[number]} language */
  #choose(language) {
    this.#chosen = language;
    for (const [index, tab] of this.#tabs.entries()) {
      const selected = LANGUAGES[index] === language;
      tab.setAttribute("aria-selected", String(selected));
      tab.tabIndex = selected ? 0 : -1;
    }
    this.#listing.setAttribute("aria-labelledby", `${this.#id}-${language.id}`);
    this.show();
  }
}
