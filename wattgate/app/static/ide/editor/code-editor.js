/**
 * An editor of code: a text area with transparent letters over a coloured copy of its text. The text area keeps undo, input
 * methods, spelling of screen readers and touch selection as the browser has them.
 */

import { element } from "../../shared/dom.js";
import { CodeLayer } from "./code-layer.js";
import { positionOf } from "./positions.js";
import { breakLine, matchBrackets, removePair, shiftLines, toggleComment, typeCharacter } from "./typing.js";

/** @import { Problem } from "../language/ast.js" */
/** @import { Piece } from "./highlight.js" */
/** @import { Edit, FieldState } from "./typing.js" */

/**
 * @typedef {object} EditorOptions
 * @property {string} label  For screen readers.
 * @property {string} placeholder
 * @property {(text: string) => Piece[][]} highlight
 * @property {boolean} [hasPairs]  Whether brackets are closed and matched.
 * @property {(text: string) => void} onInput
 * @property {(caret: number) => void} [onCaret]
 */

/** Highlights that all editors share, by name in the style sheet. */
const MARKS = ["problem", "bracket"];

export class CodeEditor {
  /** @type {HTMLTextAreaElement} */
  area;
  /** @type {HTMLElement} */
  root;
  #gutter;
  #colours;
  #layer;
  #options;
  /** @type {Problem[]} */
  #problems = [];
  /** @type {Map<string, Range[]>} */
  #ranges = new Map();

  /**
   * @param {HTMLElement} root
   * @param {EditorOptions} options
   */
  constructor(root, options) {
    this.root = root;
    this.#options = options;
    this.#gutter = element("div", { class: "gutter", "aria-hidden": "true" });
    this.#colours = element("div", { class: "colours", "aria-hidden": "true" });
    this.area = element("textarea", {
      "aria-label": options.label, placeholder: options.placeholder, spellcheck: "false", autocapitalize: "none",
      autocomplete: "off", autocorrect: "off", wrap: "off",
    });
    root.append(this.#gutter, element("div", { class: "code" }, this.#colours, this.area));
    this.#layer = new CodeLayer(this.#colours);
    this.area.addEventListener("input", () => this.#changed());
    this.area.addEventListener("scroll", () => this.#scroll());
    this.area.addEventListener("keydown", (event) => this.#onKey(event));
    document.addEventListener("selectionchange", () => {
      if (document.activeElement === this.area) this.#caretMoved();
    });
    this.#render();
  }

  get value() {
    return this.area.value;
  }

  /** Show another text. The browser cannot undo it. */
  set value(text) {
    if (this.area.value === text) return;
    this.area.value = text;
    this.area.setSelectionRange(0, 0);
    this.area.scrollTo(0, 0);
    this.#problems = [];
    this.#render();
  }

  get caret() {
    return this.area.selectionStart;
  }

  /** @type {FieldState} */
  get state() {
    return { text: this.area.value, start: this.area.selectionStart, end: this.area.selectionEnd };
  }

  /**
   * Change the text so that the browser can undo it.
   * @param {Edit} edit
   */
  apply({ start, end, text, selectionStart, selectionEnd }) {
    this.area.focus();
    if (this.value.slice(start, end) !== text) {
      this.area.setSelectionRange(start, end);
      const done = text ? document.execCommand("insertText", false, text) : document.execCommand("delete");
      if (!done) {
        this.area.setRangeText(text, start, end, "end");
        this.#changed();
      }
    }
    this.area.setSelectionRange(selectionStart, selectionEnd);
    this.#caretMoved();
  }

  /**
   * Replace the whole text. The caret stays at its offset, as far as there is one.
   * @param {string} text
   */
  replaceAll(text) {
    const caret = Math.min(this.caret, text.length);
    this.apply({ start: 0, end: this.value.length, text, selectionStart: caret, selectionEnd: caret });
  }

  /** @param {string} text */
  insert(text) {
    const { start, end } = this.state;
    this.apply({ start, end, text, selectionStart: start + text.length, selectionEnd: start + text.length });
  }

  focus() {
    this.area.focus();
  }

  /**
   * Select a range and scroll it into view.
   * @param {number} start
   * @param {number} [end]
   */
  goTo(start, end = start) {
    this.area.focus();
    this.area.setSelectionRange(start, end);
    const box = this.#layer.range(start, start)?.getBoundingClientRect();
    const outer = this.area.getBoundingClientRect();
    if (box && (box.top < outer.top + 20 || box.bottom > outer.bottom - 20)) {
      this.area.scrollTop += box.top - outer.top - outer.height / 3;
    }
    if (box && (box.left < outer.left || box.left > outer.right - 40)) this.area.scrollLeft += box.left - outer.left - outer.width / 3;
    this.#caretMoved();
  }

  /**
   * Mark the problems in the text and in the line numbers.
   * @param {Problem[]} problems
   */
  setProblems(problems) {
    this.#problems = problems;
    if (problems.length) this.area.setAttribute("aria-invalid", "true");
    else this.area.removeAttribute("aria-invalid");
    this.#markProblems();
    this.#renderGutter();
  }

  /**
   * Return where the text at an offset is in the window.
   * @param {number} offset
   * @returns {DOMRect}
   */
  boxOf(offset) {
    return this.#layer.range(offset, offset)?.getBoundingClientRect() ?? this.area.getBoundingClientRect();
  }

  /**
   * Return the offset of the text at a point of the window, or null beside the text.
   * @param {number} x
   * @param {number} y
   * @returns {number | null}
   */
  offsetAt(x, y) {
    const lines = this.value.split("\n");
    const first = this.boxOf(0);
    const height = parseFloat(getComputedStyle(this.area).lineHeight);
    const index = Math.floor((y - first.top) / height);
    if (index < 0 || index >= lines.length) return null;
    const start = lines.slice(0, index).reduce((sum, line) => sum + line.length + 1, 0);
    const box = this.#layer.range(start, start + lines[index].length)?.getBoundingClientRect();
    if (!box || !box.width || x < box.left || x > box.right) return null;
    return start + Math.floor((x - box.left) / (box.width / lines[index].length));
  }

  #changed() {
    this.#render();
    this.#options.onInput(this.value);
    this.#caretMoved();
  }

  #caretMoved() {
    if (this.#options.hasPairs) {
      const { text, start, end } = this.state;
      const pair = start === end ? matchBrackets(text, start) : null;
      this.#mark("bracket", (pair ?? []).map((at) => [at, at + 1]));
    }
    this.#options.onCaret?.(this.caret);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.defaultPrevented || event.isComposing) return;
    const edit = this.#editOf(event);
    if (!edit) return;
    event.preventDefault();
    this.apply(edit);
  }

  /**
   * @param {KeyboardEvent} event
   * @returns {Edit | null}
   */
  #editOf({ key, ctrlKey, metaKey, altKey, shiftKey }) {
    const { state } = this;
    if ((ctrlKey || metaKey) && !altKey) {
      if (key === "/") return toggleComment(state);
      if (key === "]" || key === "[") return shiftLines(state, key === "[");
      return null;
    }
    if (key === "Enter" && !shiftKey && !altKey) return breakLine(state);
    if (!this.#options.hasPairs || ctrlKey || metaKey) return null;
    if (key === "Backspace") return removePair(state);
    return key.length === 1 ? typeCharacter(state, key) : null;
  }

  #render() {
    this.#layer.render(this.#options.highlight(this.value));
    this.root.classList.toggle("empty", !this.value);
    this.#renderGutter();
    this.#markProblems();
    this.#scroll();
  }

  #renderGutter() {
    const wrong = new Set(this.#problems.map(({ start }) => positionOf(this.value, start).line));
    const count = this.#layer.lineCount;
    while (this.#gutter.childElementCount > count) this.#gutter.lastElementChild?.remove();
    while (this.#gutter.childElementCount < count) this.#gutter.append(element("span", {}, String(this.#gutter.childElementCount + 1)));
    [...this.#gutter.children].forEach((row, index) => row.classList.toggle("wrong", wrong.has(index + 1)));
  }

  #markProblems() {
    const { length } = this.value;
    this.#mark("problem", this.#problems.map(({ start, end }) => [Math.min(start, length), Math.min(Math.max(end, start + 1), length)]));
  }

  /**
   * Mark ranges by a highlight of the style sheet. Browsers without highlights mark the line numbers only.
   * @param {string} name
   * @param {number[][]} places
   */
  #mark(name, places) {
    if (!MARKS.includes(name) || !("highlights" in CSS)) return;
    const highlight = CSS.highlights.get(name) ?? new Highlight();
    CSS.highlights.set(name, highlight);
    for (const range of this.#ranges.get(name) ?? []) highlight.delete(range);
    const ranges = places.flatMap(([start, end]) => this.#layer.range(start, end) ?? []);
    for (const range of ranges) highlight.add(range);
    this.#ranges.set(name, ranges);
  }

  #scroll() {
    this.#gutter.scrollTop = this.area.scrollTop;
    this.#colours.scrollTop = this.area.scrollTop;
    this.#colours.scrollLeft = this.area.scrollLeft;
  }
}
