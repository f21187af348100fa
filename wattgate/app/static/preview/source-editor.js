/** A text area for source code, with line numbers, syntax highlighting and marks on the lines of findings. */

import { element, find, findAs } from "../shared/dom.js";
import { MAX_HIGHLIGHTED } from "./highlight.js";

/** @import { Token } from "./highlight.js" */
/** @import { Finding } from "./templates.js" */

export class SourceEditor {
  /** @type {HTMLElement} */
  #root;
  /** @type {HTMLTextAreaElement} */
  #area;
  /** @type {HTMLElement} */
  #gutter;
  /** @type {HTMLElement} */
  #colours;
  /** @type {(source: string) => Token[]} */
  #highlight;
  /** @type {Map<number, string>} */
  #severities = new Map();

  /**
   * @param {HTMLElement} root
   * @param {(source: string) => Token[]} highlight
   */
  constructor(root, highlight) {
    this.#root = root;
    this.#area = findAs(root, "textarea", HTMLTextAreaElement);
    this.#gutter = find(root, ".gutter");
    this.#colours = find(root, ".colours");
    this.#highlight = highlight;
    this.#area.addEventListener("input", () => this.#render());
    this.#area.addEventListener("scroll", () => this.#scroll());
  }

  /** The text area. */
  get area() {
    return this.#area;
  }

  /** The source code. */
  get value() {
    return this.#area.value;
  }

  set value(text) {
    if (this.#area.value !== text) this.#area.value = text;
    this.#render();
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

  /** Show the source that was set from elsewhere, for example while the editor was hidden. */
  #render() {
    this.#renderGutter();
    // The text area shows a source itself that is empty (its placeholder) or too long to be highlighted.
    const isPlain = !this.value || this.value.length > MAX_HIGHLIGHTED;
    this.#root.classList.toggle("plain-source", isPlain);
    const tokens = isPlain ? [] : this.#highlight(this.value);
    const nodes = tokens.map(({ kind, text }) => (kind === "plain" ? text : element("span", { class: kind }, text)));
    this.#colours.replaceChildren(...nodes, "\n");
    this.#scroll();
  }

  #renderGutter() {
    const count = this.#area.value.split("\n").length;
    const rows = Array.from({ length: count }, (_, index) => {
      const line = index + 1;
      return element("span", { "data-severity": this.#severities.get(line) ?? null }, String(line));
    });
    this.#gutter.replaceChildren(...rows);
    this.#scroll();
  }

  #scroll() {
    this.#gutter.scrollTop = this.#area.scrollTop;
    this.#colours.scrollTop = this.#area.scrollTop;
    this.#colours.scrollLeft = this.#area.scrollLeft;
  }
}
