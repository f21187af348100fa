/** The variables of the alert type: a menu that inserts one, and a completion of their names. */

import { closestTo, element, find, findAs } from "../shared/dom.js";
import { insertionOf } from "./completion.js";
import { CompletionList, insertText } from "./completion-list.js";
import { setUpMenu } from "./menu.js";

/** @import { TextField } from "./completion-list.js" */
/** @import { AlertVariable } from "./templates.js" */

export class VariablesMenu {
  /** @type {HTMLElement} */
  #root;
  /** @type {AlertVariable[]} */
  #variables = [];
  /** @type {TextField} */
  #field;
  /** @type {CompletionList} */
  #completion;

  /**
   * @param {HTMLElement} root  A `details` element.
   * @param {HTMLElement} listbox  The list of the completion.
   * @param {TextField[]} fields  The fields that may have variables. The first one is the default.
   * @param {(field: TextField) => void} onInsert  Called before a variable is inserted, to show its field.
   */
  constructor(root, listbox, fields, onInsert) {
    this.#root = root;
    [this.#field] = fields;
    for (const field of fields) field.addEventListener("focus", () => { this.#field = field; });
    this.#completion = new CompletionList(listbox, fields, () => {
      return this.#variables.filter(({ name }) => !name.includes("[]")).map(({ name }) => name);
    });
    setUpMenu(root);
    find(root, ".variables").addEventListener("click", (event) => {
      const name = closestTo(event, "button")?.dataset.name;
      if (!name) return;
      onInsert(this.#field);
      insertText(this.#field, insertionOf(name));
      this.#completion.close();
    });
  }

  /**
   * Offer these variables: those of the alert type first, then those that every alert has.
   * @param {AlertVariable[]} variables
   */
  show(variables) {
    this.#variables = [...variables.filter(({ base }) => !base), ...variables.filter(({ base }) => base)];
    const hasOwn = variables.some(({ base }) => !base);
    findAs(this.#root, ".no-variables", HTMLElement).hidden = hasOwn;
    find(this.#root, ".variables").replaceChildren(...this.#variables.map(item));
  }

  /** Close the menu and the completion. */
  close() {
    this.#root.removeAttribute("open");
    this.#completion.close();
  }
}

/** @param {AlertVariable} variable */
function item({ name, type, unit, sample, description, required }) {
  const details = [type.toLowerCase(), unit, required ? null : "may be empty"].filter(Boolean).join(" · ");
  return element(
    "li",
    {},
    element(
      "button",
      { type: "button", "data-name": name, "data-testid": "variable" },
      element("code", {}, name),
      element("span", { class: "type" }, details),
      element("span", { class: "sample" }, sampleText(sample)),
      element("span", { class: "description" }, description),
    ),
  );
}

/** @param {unknown} sample */
function sampleText(sample) {
  if (sample === null || sample === undefined) return "";
  return `For example ${typeof sample === "string" ? sample : JSON.stringify(sample)}`;
}
