/**
 * A bar chart. It is one stop of the Tab key; the arrow keys, Home and End go from bar to bar. Pointing anywhere above
 * or below a bar chooses it too.
 */

import { roundSteps } from "./scale.js";

export class BarChart {
  #axis;
  #bars;
  #onSelect;
  #pointed = null;

  /** `onSelect` is called with the index of the bar that is pointed at or has the focus, or null. */
  constructor(section, onSelect) {
    this.#axis = section.querySelector(".axis");
    this.#bars = section.querySelector(".bars");
    this.#onSelect = onSelect;
    this.#bars.addEventListener("keydown", (event) => this.#moveFocus(event));
    this.#bars.addEventListener("focusin", () => this.#setPointed(null));
    this.#bars.addEventListener("focusout", () => this.#updateSelection());
    this.#bars.addEventListener("pointerover", (event) => this.#setPointed(event.target.closest(".bar")));
    this.#bars.addEventListener("pointerleave", () => this.#setPointed(null));
  }

  clear() {
    this.#bars.replaceChildren();
    this.#axis.replaceChildren();
    this.#setPointed(null);
  }

  /**
   * Show bars `{ parts, marks, label, tick }`: parts are `[name, value]` from the bottom up, marks say what they are
   * worth, the tick is `{ label, minor }` or null. `axisLabel` writes a number of the axis.
   */
  show(bars, axisLabel) {
    const steps = roundSteps(Math.max(0, ...bars.map(height)));
    const top = steps.at(-1);
    this.#axis.replaceChildren(...steps.map((step) => line(step / top, axisLabel(step))));
    this.#resize(bars.length);
    bars.forEach((bar, index) => fill(this.#bars.children[index], bar, top));
    this.#updateSelection();
  }

  /** Bars are kept from one showing to the next, so that the focus stays where it is. */
  #resize(count) {
    while (this.#bars.children.length > count) this.#bars.lastChild.remove();
    while (this.#bars.children.length < count) this.#bars.append(emptyBar());
    if (count && !this.#bars.querySelector('[tabindex="0"]')) this.#setTabStop(this.#bars.lastChild);
  }

  #moveFocus(event) {
    const bars = [...this.#bars.children];
    const index = bars.indexOf(event.target);
    const next = {
      ArrowRight: bars[index + 1],
      ArrowLeft: bars[index - 1],
      Home: bars[0],
      End: bars.at(-1),
    }[event.key];
    if (!next) return;
    event.preventDefault();
    this.#setTabStop(next);
    next.focus();
  }

  #setTabStop(bar) {
    for (const other of this.#bars.children) other.tabIndex = other === bar ? 0 : -1;
  }

  #setPointed(bar) {
    this.#pointed = bar;
    this.#updateSelection();
  }

  #updateSelection() {
    const selected = this.#pointed ?? this.#bars.querySelector(".bar:focus");
    for (const bar of this.#bars.children) bar.classList.toggle("selected", bar === selected);
    const index = [...this.#bars.children].indexOf(selected);
    this.#onSelect(index < 0 ? null : index);
  }
}

function height({ parts }) {
  return parts.reduce((sum, [, value]) => sum + value, 0);
}

function emptyBar() {
  const bar = element("div", "bar");
  bar.setAttribute("role", "img");
  bar.tabIndex = -1;
  bar.append(element("span", "stack"), element("span", "tick"));
  return bar;
}

function fill(bar, { parts, marks, label, tick }, top) {
  const [stack, tickLabel] = bar.children;
  bar.dataset.marks = [...marks].join(" ");
  bar.classList.toggle("empty", parts.length === 0);
  bar.setAttribute("aria-label", label);
  while (stack.children.length > parts.length) stack.lastChild.remove();
  while (stack.children.length < parts.length) stack.append(element("span", "part"));
  parts.forEach(([name, value], index) => {
    stack.children[index].dataset.part = name;
    stack.children[index].style.setProperty("--share", Math.max(0, value) / top);
  });
  tickLabel.textContent = tick?.label ?? "";
  tickLabel.classList.toggle("minor", Boolean(tick?.minor));
}

function line(share, label) {
  const created = element("span", "gridline");
  created.textContent = label;
  created.style.setProperty("--share", share);
  return created;
}

function element(name, className) {
  const created = document.createElement(name);
  created.className = className;
  return created;
}
