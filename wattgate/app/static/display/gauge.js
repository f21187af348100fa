/** The gauge of power or of the energy of a day, drawn in SVG: a ring that is open at the bottom, and a needle. */

import { findAllAs, findAs } from "../shared/dom.js";
import { formatAxisNumber } from "./format.js";
import { onNotationChange } from "./notation.js";
import { roundSteps } from "./scale.js";

const FULL_SCALE = 10_000;
const LABELS = [0, 500, 1000, 2000, 3000, 5000, 7500, 10_000];
const TWO_SIDED_LABELS = [-10_000, -5000, -2000, -500, 0, 500, 2000, 5000, 10_000];
const CENTRE = { x: 160, y: 150 };
const RADIUS = { ring: 116, label: 142 };
/** Degrees from one end of the ring to the other. */
const SWEEP = 244;
const LEVELS = ["LOW", "MEDIUM", "HIGH"];

/**
 * Return the position of a power on the gauge, from 0 to 1. A square root gives low powers more room, because homes use
 * little power for most of the day. Powers beyond the scale are at its ends.
 * @param {number} watts
 * @param {boolean} twoSided  Whether zero is in the middle, so that exported power has a side of its own.
 * @returns {number}
 */
export function gaugePosition(watts, twoSided) {
  const size = Math.sqrt(Math.min(Math.abs(watts) / FULL_SCALE, 1));
  return twoSided ? 0.5 + (Math.sign(watts) * size) / 2 : Math.max(0, Math.sign(watts) * size);
}

export class Gauge {
  /** @type {SVGSVGElement} */
  #svg;
  #twoSided = false;
  /** @type {number[] | null} The steps of a scale of energy, or null for the scale of power. */
  #steps = null;
  /** @type {string | null} */
  #zones = null;

  /** @param {SVGSVGElement} svg */
  constructor(svg) {
    this.#svg = svg;
    for (const ring of findAllAs(svg, ".track, .arc", SVGPathElement)) ring.setAttribute("d", arc(0, 1, RADIUS.ring));
    this.#drawScale();
    onNotationChange(() => this.#drawScale());
  }

  /**
   * Move the needle to a power.
   * @param {number} watts
   * @param {boolean} exports  Whether the home exports power: its scale has zero at the top.
   * @param {[number, number] | null} bounds  The powers in watts at which the medium and the high level begin.
   */
  show(watts, exports, bounds) {
    this.#setScale(exports || watts < 0, null);
    this.#drawZones(bounds);
    const zero = this.#position(0);
    const position = this.#position(watts);
    const { style, classList } = this.#svg;
    style.setProperty("--arc-from", String(Math.min(zero, position) * 100));
    style.setProperty("--arc-length", String(Math.abs(position - zero) * 100));
    style.setProperty("--needle-angle", `${degrees(position)}deg`);
    classList.remove("blank");
  }

  /**
   * Show the energy of a day so far on a scale of energy. The needle is at the usual energy.
   * @param {number} soFar  In kWh.
   * @param {number | null} usual  Null hides the needle.
   * @param {number} wholeDay  The scale has room for it.
   */
  showDay(soFar, usual, wholeDay) {
    const steps = roundSteps(Math.max(soFar, usual ?? 0, wholeDay));
    this.#setScale(false, steps);
    this.#drawZones(null);
    const end = steps[steps.length - 1];
    const { style, classList } = this.#svg;
    style.setProperty("--arc-from", "0");
    style.setProperty("--arc-length", String((soFar / end) * 100));
    style.setProperty("--needle-angle", `${degrees((usual ?? 0) / end)}deg`);
    classList.toggle("without-needle", usual === null);
    classList.remove("blank");
  }

  /** Hide the needle and the levels. */
  blank() {
    this.#svg.classList.add("blank");
    this.#setScale(this.#twoSided, null);
    this.#drawZones(null);
  }

  /**
   * @param {boolean} twoSided
   * @param {number[] | null} steps
   */
  #setScale(twoSided, steps) {
    this.#svg.classList.remove("without-needle");
    if (twoSided === this.#twoSided && String(steps) === String(this.#steps)) return;
    this.#twoSided = twoSided;
    this.#steps = steps;
    this.#zones = null;
    this.#drawScale();
  }

  #drawScale() {
    const steps = this.#steps;
    const labels = steps
      ? steps.map((energy) => scaleLabel(energy / steps[steps.length - 1], energy))
      : (this.#twoSided ? TWO_SIDED_LABELS : LABELS).map((watts) => scaleLabel(this.#position(watts), Math.abs(watts) / 1000));
    findAs(this.#svg, ".labels", SVGGElement).replaceChildren(...labels);
  }

  /**
   * Draw the zone of each level, from zero to the end of the scale.
   * @param {[number, number] | null} bounds
   */
  #drawZones(bounds) {
    if (String(bounds) === this.#zones) return;
    this.#zones = String(bounds);
    const edges = bounds ? [0, ...bounds, FULL_SCALE].map((watts) => this.#position(watts)) : [];
    const zones = edges.slice(1).map((to, index) => {
      return shape("path", { d: arc(edges[index], to, RADIUS.ring), "data-level": LEVELS[index] });
    });
    findAs(this.#svg, ".zones", SVGGElement).replaceChildren(...zones);
  }

  /** @param {number} watts */
  #position(watts) {
    return gaugePosition(watts, this.#twoSided);
  }
}

/**
 * @param {number} position
 * @param {number} value
 */
function scaleLabel(position, value) {
  const { x, y } = point(position, RADIUS.label);
  const label = shape("text", { x: String(x), y: String(y) });
  label.textContent = formatAxisNumber(value);
  return label;
}

/**
 * @param {number} from
 * @param {number} to
 * @param {number} radius
 */
function arc(from, to, radius) {
  const [start, end] = [point(from, radius), point(to, radius)];
  const large = (to - from) * SWEEP > 180 ? 1 : 0;
  return `M ${start.x} ${start.y} A ${radius} ${radius} 0 ${large} 1 ${end.x} ${end.y}`;
}

/**
 * Degrees clockwise from the top.
 * @param {number} position
 */
function degrees(position) {
  return (position - 0.5) * SWEEP;
}

/**
 * @param {number} position
 * @param {number} radius
 */
function point(position, radius) {
  const angle = (degrees(position) * Math.PI) / 180;
  const x = CENTRE.x + radius * Math.sin(angle);
  const y = CENTRE.y - radius * Math.cos(angle);
  return { x: Math.round(x * 100) / 100, y: Math.round(y * 100) / 100 };
}

/**
 * @param {"path" | "text"} name
 * @param {Record<string, string>} attributes
 */
function shape(name, attributes) {
  const created = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  return created;
}
