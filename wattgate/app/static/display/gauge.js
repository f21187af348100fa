/** The power dial, drawn in SVG: three quarters of a ring, and a needle. */

const FULL_SCALE = 10_000;
const LABELS = [0, 500, 1000, 2000, 3000, 5000, 7500, 10_000];
const TWO_SIDED_LABELS = [-10_000, -5000, -2000, -500, 0, 500, 2000, 5000, 10_000];
const CENTRE = { x: 160, y: 150 };
const RADIUS = { ring: 116, label: 138 };
/** Degrees from one end of the ring to the other; it is open at the bottom. */
const SWEEP = 244;
const LEVELS = ["LOW", "MEDIUM", "HIGH"];

export class Gauge {
  #svg;
  #twoSided = null;
  #zones = null;

  constructor(svg) {
    this.#svg = svg;
    for (const ring of svg.querySelectorAll(".track, .arc")) ring.setAttribute("d", arc(0, 1, RADIUS.ring));
    this.#setScale(false);
  }

  /**
   * Move the needle to a power. A home that exports has its zero at the top. `bounds` are the powers in watts at which
   * the middle and the high level begin, or null.
   */
  show(watts, exports, bounds) {
    this.#setScale(exports || watts < 0);
    this.#drawZones(bounds);
    const zero = this.#position(0);
    const position = this.#position(watts);
    const { style, classList } = this.#svg;
    style.setProperty("--arc-from", Math.min(zero, position) * 100);
    style.setProperty("--arc-length", Math.abs(position - zero) * 100);
    style.setProperty("--needle-angle", `${degrees(position)}deg`);
    classList.remove("blank");
  }

  blank() {
    this.#svg.classList.add("blank");
    this.#drawZones(null);
  }

  #setScale(twoSided) {
    if (twoSided === this.#twoSided) return;
    this.#twoSided = twoSided;
    this.#zones = undefined;
    const labels = (twoSided ? TWO_SIDED_LABELS : LABELS).map((watts) => this.#scaleLabel(watts));
    this.#svg.querySelector(".labels").replaceChildren(...labels);
  }

  /** Draw where each level lies, from zero to the end of the scale. */
  #drawZones(bounds) {
    if (String(bounds) === this.#zones) return;
    this.#zones = String(bounds);
    const edges = bounds ? [0, ...bounds, FULL_SCALE].map((watts) => this.#position(watts)) : [];
    const zones = edges.slice(1).map((to, index) => {
      return shape("path", { d: arc(edges[index], to, RADIUS.ring), "data-level": LEVELS[index] });
    });
    this.#svg.querySelector(".zones").replaceChildren(...zones);
  }

  /** Where on the dial, from 0 to 1. The root spreads out the low powers, where homes are most of the day. */
  #position(watts) {
    const size = Math.sqrt(Math.min(Math.abs(watts) / FULL_SCALE, 1));
    return this.#twoSided ? 0.5 + (Math.sign(watts) * size) / 2 : Math.max(0, Math.sign(watts) * size);
  }

  #scaleLabel(watts) {
    const { x, y } = point(this.#position(watts), RADIUS.label);
    const label = shape("text", { x, y });
    label.textContent = `${Math.abs(watts) / 1000}`;
    return label;
  }
}

function arc(from, to, radius) {
  const [start, end] = [point(from, radius), point(to, radius)];
  const large = (to - from) * SWEEP > 180 ? 1 : 0;
  return `M ${start.x} ${start.y} A ${radius} ${radius} 0 ${large} 1 ${end.x} ${end.y}`;
}

/** Clockwise from the top. */
function degrees(position) {
  return (position - 0.5) * SWEEP;
}

function point(position, radius) {
  const angle = (degrees(position) * Math.PI) / 180;
  const rounded = (value) => Math.round(value * 100) / 100;
  return { x: rounded(CENTRE.x + radius * Math.sin(angle)), y: rounded(CENTRE.y - radius * Math.cos(angle)) };
}

function shape(name, attributes) {
  const created = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  return created;
}
