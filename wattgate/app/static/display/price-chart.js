/** Draws the price curve as steps. The pointer or the keyboard selects a step. */

import { element, find } from "../shared/dom.js";
import { RovingFocus } from "./roving-focus.js";

/** @import { CurveLayout, StepBox } from "./price-layout.js" */

/**
 * The texts of the chart: those of the steps for screen readers, of the hours, of the gridlines, and of tomorrow.
 * @typedef {object} ChartTexts
 * @property {string[]} steps
 * @property {string[]} hours
 * @property {string[]} gridlines
 * @property {string} tomorrow
 */

export class PriceChart {
  /** @type {HTMLElement} */
  #chart;
  /** @type {HTMLElement} */
  #steps;
  /** @type {RovingFocus} */
  #focus;

  /**
   * @param {HTMLElement} chart
   * @param {(index: number | null) => void} onSelect
   *   Called with the index of the step that the pointer or the focus is on, or null if there is none.
   */
  constructor(chart, onSelect) {
    this.#chart = chart;
    this.#steps = find(chart, ".price-steps");
    this.#focus = new RovingFocus(this.#steps, onSelect);
  }

  /**
   * Draw a curve. Existing steps are reused, so that the focus stays where it is.
   * @param {CurveLayout} layout
   * @param {ChartTexts} texts
   * @param {{ current: number, cheapest: [first: number, last: number] | null }} marked  Indices of steps.
   */
  show({ boxes, gridlines, hours, now, tomorrow }, texts, { current, cheapest }) {
    this.#resize(boxes.length);
    this.#focus.elements.forEach((step, index) => {
      const isCheapest = cheapest !== null && cheapest[0] <= index && index <= cheapest[1];
      fill(step, boxes[index], { label: texts.steps[index], isCheapest, isCurrent: index === current });
    });
    this.#focus.ensureStop(this.#focus.elements[Math.max(current, 0)]);
    const lines = gridlines.map(({ at }, index) => placed("price-gridline", { "--at": at }, texts.gridlines[index]));
    const ticks = hours.map(({ at, minor }, index) => {
      const tick = placed("price-hour", { "--at": at }, texts.hours[index]);
      tick.classList.toggle("minor", minor);
      return tick;
    });
    const days = tomorrow === null ? [] : [placed("price-day", { "--at": tomorrow }, texts.tomorrow)];
    const present = now === null ? [] : [placed("price-now", { "--at": now }, "")];
    find(this.#chart, ".price-axis").replaceChildren(...lines, ...ticks, ...days);
    find(this.#chart, ".price-marks").replaceChildren(...present);
    this.#focus.updateSelection();
  }

  /** @param {number} count */
  #resize(count) {
    while (this.#steps.children.length > count) this.#steps.lastElementChild?.remove();
    while (this.#steps.children.length < count) {
      const step = element("div", { class: "price-step", role: "img" }, element("span", { class: "price-bar" }));
      step.tabIndex = -1;
      this.#steps.append(step);
    }
  }
}

/**
 * @param {HTMLElement} step
 * @param {StepBox} box
 * @param {{ label: string, isCheapest: boolean, isCurrent: boolean }} content
 */
function fill(step, { from, to, low, high, isNegative }, { label, isCheapest, isCurrent }) {
  step.setAttribute("aria-label", label);
  step.classList.toggle("unknown", low === null);
  step.classList.toggle("negative", isNegative);
  step.classList.toggle("cheapest", isCheapest);
  step.classList.toggle("current", isCurrent);
  place(step, { "--from": from, "--to": to, "--low": low ?? 0, "--high": high ?? 1 });
}

/**
 * @param {string} name
 * @param {Record<string, number>} position
 * @param {string} words
 */
function placed(name, position, words) {
  const mark = element("span", { class: name }, words);
  place(mark, position);
  return mark;
}

/**
 * @param {HTMLElement} target
 * @param {Record<string, number>} position  Shares from 0 to 1.
 */
function place(target, position) {
  for (const [name, share] of Object.entries(position)) target.style.setProperty(name, share.toFixed(5));
}
