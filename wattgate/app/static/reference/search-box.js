/** The search field and its results: the operations that match, the best first. Arrows choose one, Enter opens it. */

import { closestTo, element, find, findAll, findAs, formatPath, prose } from "../shared/dom.js";

/** @import { Operation } from "./openapi.js" */
/** @import { SearchIndex } from "./search.js" */

/**
 * @typedef {object} SearchHandlers
 * @property {(query: string, count: number) => void} onChange  Called when the query changes.
 * @property {(operation: Operation) => void} onChoose
 */

/** Results that the page shows. Nobody reads more. */
const MAX_RESULTS = 30;

export class SearchBox {
  /** @type {HTMLInputElement} */
  #input;
  /** @type {HTMLElement} */
  #list;
  /** @type {SearchIndex} */
  #index;
  /** @type {SearchHandlers} */
  #handlers;
  /** @type {Operation[]} */
  #results = [];
  #active = 0;

  /**
   * @param {ParentNode} root
   * @param {SearchIndex} index
   * @param {SearchHandlers} handlers
   */
  constructor(root, index, handlers) {
    this.#input = findAs(root, ".filter", HTMLInputElement);
    this.#list = find(root, ".results");
    this.#index = index;
    this.#handlers = handlers;
    this.#input.disabled = false;
    this.#input.addEventListener("input", () => this.#search());
    this.#input.addEventListener("keydown", (event) => this.#onKey(event));
    this.#list.addEventListener("click", (event) => {
      const option = closestTo(event, "[role=option]");
      if (option) this.#choose(findAll(this.#list, "[role=option]").indexOf(option));
    });
    document.addEventListener("keydown", (event) => this.#onShortcut(event));
  }

  /** The query as the user wrote it. */
  get query() {
    return this.#input.value.trim();
  }

  /**
   * Search for a query.
   * @param {string} query
   */
  search(query) {
    this.#input.value = query;
    this.#search();
  }

  /** Move the focus to the field. */
  focus() {
    this.#input.focus();
  }

  #search() {
    const found = this.query ? this.#index.find(this.query) : [];
    this.#results = found.slice(0, MAX_RESULTS);
    this.#list.replaceChildren(...this.#results.map(resultOption));
    this.#activate(0);
    this.#handlers.onChange(this.query, found.length);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const last = this.#results.length - 1;
    if (event.key === "Escape") this.search("");
    else if (event.key === "Enter") this.#choose(this.#active);
    else if (event.key === "ArrowDown") this.#activate(this.#active === last ? 0 : this.#active + 1);
    else if (event.key === "ArrowUp") this.#activate(this.#active === 0 ? last : this.#active - 1);
    else return;
    event.preventDefault();
  }

  /** @param {number} index */
  #activate(index) {
    const options = findAll(this.#list, "[role=option]");
    this.#active = Math.max(0, Math.min(index, options.length - 1));
    for (const [at, option] of options.entries()) option.setAttribute("aria-selected", String(at === this.#active));
    const active = options[this.#active];
    this.#input.setAttribute("aria-expanded", String(options.length > 0));
    if (!active) return this.#input.removeAttribute("aria-activedescendant");
    this.#input.setAttribute("aria-activedescendant", active.id);
    active.scrollIntoView({ block: "nearest" });
  }

  /** @param {number} index */
  #choose(index) {
    const operation = this.#results[index];
    if (operation) this.#handlers.onChoose(operation);
  }

  /**
   * Move the focus to the field when the user presses "/" outside a field.
   * @param {KeyboardEvent} event
   */
  #onShortcut(event) {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (closestTo(event, "input, textarea, select, [contenteditable], dialog")) return;
    event.preventDefault();
    this.#input.focus();
    this.#input.select();
  }
}

/** @param {Operation} operation */
function resultOption({ id, method, path, summary, area }) {
  return element(
    "li",
    { role: "option", id: `result-${id}`, class: "result-option operation", "data-method": method, "data-testid": "result" },
    element("span", { class: "method" }, method),
    formatPath(path),
    element("span", { class: "summary-text" }, prose(summary)),
    element("small", { class: "result-area" }, area),
  );
}
