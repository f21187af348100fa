/**
 * A bar chart. It is one stop of the Tab key; the arrow keys, Home and End go from bar to bar. A bar that is pointed
 * at or has the focus tells its name and value.
 */

import { roundSteps } from "./scale.js";

export class BarChart {
  #note;
  #axis;
  #bars;
  #bubble;

  constructor(section) {
    this.#note = section.querySelector(".note");
    this.#axis = section.querySelector(".axis");
    this.#bars = section.querySelector(".bars");
    this.#bubble = section.querySelector(".bubble");
    this.#bars.addEventListener("keydown", (event) => this.#step(event));
    this.#bars.addEventListener("focusin", (event) => this.#tell(event.target));
    this.#bars.addEventListener("focusout", () => this.#tell(null));
    this.#bars.addEventListener("pointerover", (event) => this.#tell(event.target.closest(".bar")));
    this.#bars.addEventListener("pointerleave", () => this.#tell(this.#bars.querySelector(".bar:focus")));
  }

  clear() {
    this.#bars.replaceChildren();
    this.#axis.replaceChildren();
    this.#note.textContent = "";
    this.#tell(null);
  }

  /**
   * Show bars `{ value, state, name, text, tick }`: the state is `whole`, `partial` (still being counted), `waiting`
   * (nothing yet) or `missing`; the tick is `{ label, major }` or null. `axisLabel` writes a number of the axis.
   */
  show({ note, axisLabel, bars }) {
    const steps = roundSteps(Math.max(0, ...bars.map((bar) => bar.value ?? 0)));
    const top = steps.at(-1);
    this.#note.textContent = note;
    this.#axis.replaceChildren(...steps.map((step) => line(step / top, axisLabel(step))));
    this.#makeRoomFor(bars.length);
    bars.forEach((bar, index) => fill(this.#bars.children[index], bar, top));
    this.#tell(this.#bars.querySelector(".bar:hover, .bar:focus"));
  }

  /** Bars are kept from one showing to the next, so that the focus stays where it is. */
  #makeRoomFor(count) {
    while (this.#bars.children.length > count) this.#bars.lastChild.remove();
    while (this.#bars.children.length < count) this.#bars.append(emptyBar());
    if (!this.#bars.querySelector('[tabindex="0"]')) this.#reach(this.#bars.lastChild);
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

  #tell(bar) {
    this.#bubble.hidden = !bar;
    if (!bar) return;
    this.#bubble.replaceChildren(bold(bar.dataset.text), ` ${bar.dataset.name}`);
    this.#bubble.style.setProperty("--at", (bar.offsetLeft + bar.offsetWidth / 2) / this.#bars.offsetWidth);
  }
}

function emptyBar() {
  const bar = element("div", "bar");
  bar.setAttribute("role", "img");
  bar.tabIndex = -1;
  bar.append(element("span", "fill"), element("span", "tick"));
  return bar;
}

function fill(bar, { value, state, name, text, tick }, top) {
  bar.dataset.state = state;
  bar.dataset.name = name;
  bar.dataset.text = text;
  bar.setAttribute("aria-label", `${name}: ${text}`);
  bar.style.setProperty("--share", (value ?? 0) / top);
  bar.lastChild.textContent = tick?.label ?? "";
  bar.lastChild.classList.toggle("minor", tick?.major === false);
}

function line(share, label) {
  const made = element("span", "gridline");
  made.textContent = label;
  made.style.setProperty("--share", share);
  return made;
}

function bold(text) {
  const made = element("strong");
  made.textContent = text;
  return made;
}

function element(name, className = "") {
  const made = document.createElement(name);
  made.className = className;
  return made;
}
