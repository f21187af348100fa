/** A text area for source code, with line numbers and marks on the lines of findings. */

import { element, find, findAs } from "../shared/dom.js";

/** @import { Finding } from "./templates.js" */

export class SourceEditor {
  /** @type {HTMLTextAreaElement} */
  #area;
  /** @type {HTMLElement} */
  #gutter;
  /** @type {Map<number, string>} */
  #severities = new Map();

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#area = findAs(root, "textarea", HTMLTextAreaElement);
    this.#gutter = find(root, ".gutter");
    this.#area.addEventListener("input", () => this.#renderGutter());
    this.#area.addEventListener("scroll", () => (this.#gutter.scrollTop = this.#area.scrollTop));
  }

  /** The source code. */
  get value() {
    return this.#area.value;
  }

  set value(text) {
    if (this.#area.value !== text) this.#area.value = text;
    this.#renderGutter();
  }

  /**
   * Mark the lines of findings. If a line has several, the first one counts.
   * @param {Finding[]} findings
   */
  markLines(findings) {
    this.#severities = new Map();
    for (const { line, severity } of findings) {
      if (line && !this.#severities.has(line)) this.#severities.set(line, severity);
    }
    this.#renderGutter();
  }

  /**
   * Select a line and scroll it into view.
   * @param {number} line  Counted from 1. Behind the end, the last line is selected.
   */
  goTo(line) {
    const lines = this.value.split("\n");
    const index = Math.min(line, lines.length) - 1;
    const start = lines.slice(0, index).reduce((sum, text) => sum + text.length + 1, 0);
    this.#area.focus();
    this.#area.setSelectionRange(start, start + lines[index].length);
    const height = this.#area.scrollHeight / Math.max(lines.length, 1);
    this.#area.scrollTop = Math.max(0, index * height - this.#area.clientHeight / 3);
    this.#area.scrollLeft = 0;
  }

  #renderGutter() {
    const count = this.#area.value.split("\n").length;
    const rows = Array.from({ length: count }, (_, index) => {
      const line = index + 1;
      return element("span", { "data-severity": this.#severities.get(line) ?? null }, String(line));
    });
    this.#gutter.replaceChildren(...rows);
    this.#gutter.scrollTop = this.#area.scrollTop;
  }
}
