/** A list of names below the caret while a variable is typed. Arrow keys select, Enter or Tab insert, Escape closes. */

import { closestTo, element, findAll } from "../shared/dom.js";
import { findTypedName, offerNames } from "./completion.js";

/** @typedef {HTMLInputElement | HTMLTextAreaElement} TextField */

export class CompletionList {
  /** @type {HTMLElement} */
  #root;
  /** @type {() => string[]} */
  #names;
  /** @type {TextField | null} */
  #field = null;
  #selected = 0;

  /**
   * @param {HTMLElement} root  A listbox.
   * @param {TextField[]} fields
   * @param {() => string[]} names
   */
  constructor(root, fields, names) {
    this.#root = root;
    this.#names = names;
    for (const field of fields) {
      field.setAttribute("aria-autocomplete", "list");
      field.setAttribute("aria-controls", root.id);
      field.addEventListener("input", () => this.#update(field));
      field.addEventListener("keydown", (event) => this.#onKey(event));
      field.addEventListener("blur", () => this.close());
      field.addEventListener("scroll", () => this.close());
    }
    // The field keeps the focus while the mouse selects a name.
    root.addEventListener("mousedown", (event) => event.preventDefault());
    root.addEventListener("click", (event) => {
      const option = closestTo(event, "[role=option]");
      if (option) this.#insert(option.textContent ?? "");
    });
  }

  close() {
    this.#field?.removeAttribute("aria-activedescendant");
    this.#field = null;
    this.#root.hidden = true;
  }

  /** @param {Event} event */
  #onKey(event) {
    if (!(event instanceof KeyboardEvent) || !this.#field) return;
    const options = findAll(this.#root, "[role=option]");
    if (event.key === "ArrowDown") this.#select(this.#selected + 1);
    else if (event.key === "ArrowUp") this.#select(this.#selected - 1);
    else if (event.key === "Enter" || event.key === "Tab") this.#insert(options[this.#selected].textContent ?? "");
    else if (event.key === "Escape") this.close();
    else return;
    event.preventDefault();
  }

  /** @param {TextField} field */
  #update(field) {
    const typed = findTypedName(field.value, field.selectionStart ?? 0);
    const offered = typed ? offerNames(this.#names(), typed.prefix) : [];
    if (!offered.length) {
      this.close();
      return;
    }
    this.#field = field;
    const options = offered.map((name, index) => {
      return element("div", { role: "option", id: `completion-${index}`, "data-testid": "completion" }, name);
    });
    this.#root.replaceChildren(...options);
    this.#root.hidden = false;
    this.#place(field);
    this.#select(0);
  }

  /** @param {number} index */
  #select(index) {
    const options = findAll(this.#root, "[role=option]");
    this.#selected = (index + options.length) % options.length;
    options.forEach((option, position) => option.setAttribute("aria-selected", String(position === this.#selected)));
    this.#field?.setAttribute("aria-activedescendant", options[this.#selected].id);
    options[this.#selected].scrollIntoView({ block: "nearest" });
  }

  /** @param {string} name */
  #insert(name) {
    const field = this.#field;
    const caret = field?.selectionStart ?? 0;
    const typed = field && findTypedName(field.value, caret);
    if (!field || !typed) return;
    this.close();
    const isClosed = /^\s*(?:\}\}|%\}|\||[\w.])/.test(field.value.slice(caret));
    field.setSelectionRange(typed.start, caret);
    insertText(field, isClosed || !field.value.slice(0, typed.start).trimEnd().endsWith("{{") ? name : `${name} }}`);
    this.close();
  }

  /**
   * Place the list below the caret of a text area, or below an input.
   * @param {TextField} field
   */
  #place(field) {
    const box = field.getBoundingClientRect();
    let [left, top] = [box.left, box.bottom + 2];
    if (field instanceof HTMLTextAreaElement) {
      const { lineHeight, paddingTop, paddingLeft, font } = getComputedStyle(field);
      const lines = field.value.slice(0, field.selectionStart).split("\n");
      left += parseFloat(paddingLeft) + lines[lines.length - 1].length * characterWidth(font) - field.scrollLeft;
      top = box.top + parseFloat(paddingTop) + lines.length * parseFloat(lineHeight) - field.scrollTop + 2;
    }
    const { offsetWidth, offsetHeight } = this.#root;
    this.#root.style.left = `${Math.max(8, Math.min(left, innerWidth - offsetWidth - 8))}px`;
    this.#root.style.top = `${Math.max(8, Math.min(top, innerHeight - offsetHeight - 8))}px`;
  }
}

/**
 * Replace the selection of a field, so that the browser can undo it.
 * @param {TextField} field
 * @param {string} text
 */
export function insertText(field, text) {
  field.focus();
  if (document.execCommand("insertText", false, text)) return;
  field.setRangeText(text, field.selectionStart ?? 0, field.selectionEnd ?? 0, "end");
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

/** @param {string} font  The font of a text area: all characters have the same width. */
function characterWidth(font) {
  const context = document.createElement("canvas").getContext("2d");
  if (!context) return 8;
  context.font = font;
  return context.measureText("0").width;
}
