/**
 * A bar chart. The Tab key reaches it once; the arrow keys, Home and End move between the bars. The pointer selects the
 * bar whose column it is in.
 */

import { element, find } from "../shared/dom.js";
import { RovingFocus } from "./roving-focus.js";
import { roundSteps } from "./scale.js";

/**
 * A bar of the chart.
 * @typedef {object} Bar
 * @property {[name: string, value: number][]} parts  From the bottom up.
 * @property {number | null} before  An earlier value to compare with, drawn as a line. Null if there is none.
 * @property {Set<string>} marks  What limits the value, for example `estimated`.
 * @property {string} label  The text for screen readers.
 * @property {Tick | null} tick
 */

/**
 * The label below a bar. A minor one is hidden where there is not enough room.
 * @typedef {{ label: string, minor: boolean }} Tick
 */

export class BarChart {
  /** @type {HTMLElement} */
  #axis;
  /** @type {HTMLElement} */
  #bars;
  /** @type {RovingFocus} */
  #focus;

  /**
   * @param {HTMLElement} section
   * @param {(index: number | null) => void} onSelect
   *   Called with the index of the bar that the pointer or the focus is on, or null if there is none.
   */
  constructor(section, onSelect) {
    this.#axis = find(section, ".axis");
    this.#bars = find(section, ".bars");
    this.#focus = new RovingFocus(this.#bars, onSelect);
  }

  /** Remove all bars. */
  clear() {
    this.#bars.replaceChildren();
    this.#axis.replaceChildren();
    this.#focus.clearPointed();
  }

  /**
   * Show bars. Existing elements are reused, so that the focus stays on its bar.
   * @param {Bar[]} bars
   * @param {(value: number) => string} formatAxisValue
   */
  show(bars, formatAxisValue) {
    const steps = roundSteps(Math.max(0, ...bars.map(height), ...bars.map(({ before }) => before ?? 0)));
    const top = Math.max(...steps);
    this.#axis.replaceChildren(...steps.map((step) => gridline(step / top, formatAxisValue(step))));
    this.#resize(bars.length);
    const { elements } = this.#focus;
    bars.forEach((bar, index) => fill(elements[index], bar, top));
    this.#focus.updateSelection();
  }

  /** @param {number} count */
  #resize(count) {
    while (this.#bars.children.length > count) this.#bars.lastElementChild?.remove();
    while (this.#bars.children.length < count) this.#bars.append(emptyBar());
    this.#focus.ensureStop(this.#focus.elements.at(-1));
  }
}

/** @param {Bar} bar */
function height({ parts }) {
  return parts.reduce((sum, [, value]) => sum + value, 0);
}

function emptyBar() {
  const bar = element("div", { class: "bar", role: "img" });
  bar.tabIndex = -1;
  bar.append(element("span", { class: "stack" }), element("span", { class: "tick" }), element("span", { class: "before" }));
  return bar;
}

/**
 * @param {HTMLElement} bar
 * @param {Bar} content
 * @param {number} top  The value at the top of the axis.
 */
function fill(bar, { parts, before, marks, label, tick }, top) {
  const [stack, tickLabel, line] = /** @type {HTMLElement[]} */ ([...bar.children]);
  bar.dataset.marks = [...marks].join(" ");
  bar.classList.toggle("empty", parts.length === 0);
  bar.setAttribute("aria-label", label);
  while (stack.children.length > parts.length) stack.lastElementChild?.remove();
  while (stack.children.length < parts.length) stack.append(element("span", { class: "part" }));
  parts.forEach(([name, value], index) => {
    const part = /** @type {HTMLElement} */ (stack.children[index]);
    part.dataset.part = name;
    part.style.setProperty("--share", String(Math.max(0, value) / top));
  });
  line.hidden = before === null;
  line.style.setProperty("--share", String((before ?? 0) / top));
  tickLabel.textContent = tick?.label ?? "";
  tickLabel.classList.toggle("minor", Boolean(tick?.minor));
}

/**
 * @param {number} share  The height, from 0 to 1.
 * @param {string} label
 */
function gridline(share, label) {
  const line = element("span", { class: "gridline" }, label);
  line.style.setProperty("--share", String(share));
  return line;
}
