/**
 * A bar chart. It is one stop of the Tab key; the arrow keys, Home and End go from bar to bar. Pointing anywhere above
 * or below a bar chooses it too.
 */

import { roundSteps } from "./scale.js";

export class BarChart {
  #axis;
  #bars;
  #choose;
  #pointed = null;

  /** `choose` is called with the index of the bar that is pointed at or has the focus, or null. */
  constructor(section, choose) {
    this.#axis = section.querySelector(".axis");
    this.#bars = section.querySelector(".bars");
    this.#choose = choose;
    this.#bars.addEventListener("keydown", (event) => this.#step(event));
    this.#bars.addEventListener("focusin", () => this.#point(null));
    this.#bars.addEventListener("focusout", () => this.#tell());
    this.#bars.addEventListener("pointerover", (event) => this.#point(event.target.closest(".bar")));
    this.#bars.addEventListener("pointerleave", () => this.#point(null));
  }

  clear() {
    this.#bars.replaceChildren();
    this.#axis.replaceChildren();
    this.#point(null);
  }

  /**
   * Show bars `{ parts, marks, label, tick }`: parts are `[name, value]` from the bottom up, marks say what they are
   * worth, the tick is `{ label, minor }` or null. `axisLabel` writes a number of the axis.
   */
  show(bars, axisLabel) {
    const steps = roundSteps(Math.max(0, ...bars.map(height)));
    const top = steps.at(-1);
    this.#axis.replaceChildren(...steps.map((step) => line(step / top, axisLabel(step))));
    this.#makeRoomFor(bars.length);
    bars.forEach((bar, index) => fill(this.#bars.children[index], bar, top));
    this.#tell();
  }

  /** Bars are kept from one showing to the next, so that the focus stays where it is. */
  #makeRoomFor(count) {
    while (this.#bars.children.length > count) this.#bars.lastChild.remove();
    while (this.#bars.children.length < count) this.#bars.append(emptyBar());
    if (count && !this.#bars.querySelector('[tabindex="0"]')) this.#reach(this.#bars.lastChild);
  }

  #step(event) {
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
    this.#reach(next);
    next.focus();
  }

  #reach(bar) {
    for (const other of this.#bars.children) other.tabIndex = other === bar ? 0 : -1;
  }

  #point(bar) {
    this.#pointed = bar;
    this.#tell();
  }

  #tell() {
    const chosen = this.#pointed ?? this.#bars.querySelector(".bar:focus");
    for (const bar of this.#bars.children) bar.classList.toggle("chosen", bar === chosen);
    const index = [...this.#bars.children].indexOf(chosen);
    this.#choose(index < 0 ? null : index);
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
  const made = element("span", "gridline");
  made.textContent = label;
  made.style.setProperty("--share", share);
  return made;
}

function element(name, className) {
  const made = document.createElement(name);
  made.className = className;
  return made;
}
