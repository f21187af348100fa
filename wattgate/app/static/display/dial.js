/** The semicircular power dial, drawn in SVG. */

const FULL_SCALE = 10_000;
const MARKS = [0, 1000, 3000, 6000, 10_000];
const TWO_SIDED_MARKS = [-10_000, -4000, -1000, 0, 1000, 4000, 10_000];
const CENTRE = { x: 120, y: 118 };
const RADIUS = 92;

export class Dial {
  #svg;
  #twoSided = null;

  constructor(svg) {
    this.#svg = svg;
    for (const arc of svg.querySelectorAll(".track, .arc")) arc.setAttribute("d", semicircle());
    this.#fit(false);
  }

  /** Move the needle to a power. A home that exports has its zero at the top. */
  show(watts, exports) {
    this.#fit(exports || watts < 0);
    const zero = this.#share(0);
    const share = this.#share(watts);
    const [from, to] = [Math.min(zero, share), Math.max(zero, share)];
    const { style, classList } = this.#svg;
    style.setProperty("--arc-from", from * 100);
    style.setProperty("--arc-length", (to - from) * 100);
    style.setProperty("--needle-angle", `${share * 180}deg`);
    classList.remove("blank");
  }

  blank() {
    this.#svg.classList.add("blank");
  }

  #fit(twoSided) {
    if (twoSided === this.#twoSided) return;
    this.#twoSided = twoSided;
    const marks = (twoSided ? TWO_SIDED_MARKS : MARKS).flatMap((watts) => this.#mark(watts));
    this.#svg.querySelector(".marks").replaceChildren(...marks);
  }

  /** Where on the dial, from 0 to 1. The root spreads out the low powers, where homes are most of the day. */
  #share(watts) {
    const size = Math.sqrt(Math.min(Math.abs(watts) / FULL_SCALE, 1));
    return this.#twoSided ? 0.5 + (Math.sign(watts) * size) / 2 : Math.max(0, Math.sign(watts) * size);
  }

  #mark(watts) {
    const share = this.#share(watts);
    const [inner, outer, text] = [RADIUS - 8, RADIUS + 8, RADIUS + 18].map((radius) => point(share, radius));
    const label = shape("text", { x: text.x, y: text.y });
    label.textContent = `${Math.abs(watts) / 1000}`;
    if (share === 0 || share === 1) return [label];
    return [shape("line", { x1: inner.x, y1: inner.y, x2: outer.x, y2: outer.y }), label];
  }
}

function semicircle() {
  const [start, end] = [point(0, RADIUS), point(1, RADIUS)];
  return `M ${start.x} ${start.y} A ${RADIUS} ${RADIUS} 0 0 1 ${end.x} ${end.y}`;
}

function point(share, radius) {
  const angle = Math.PI * (1 - share);
  const rounded = (value) => Math.round(value * 100) / 100;
  return { x: rounded(CENTRE.x + radius * Math.cos(angle)), y: rounded(CENTRE.y - radius * Math.sin(angle)) };
}

function shape(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
