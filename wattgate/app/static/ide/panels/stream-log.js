/** The payloads of a subscription that the page keeps, and the numbers in them as series over time. */

/** @import { Payload } from "../../shared/connection.js" */

/** A payload, with its number since the start. @typedef {{ number: number, at: number, payload: Payload }} Entry */

/** @typedef {{ at: number, value: number }} Point */

/** @typedef {{ label: string, unit: string, points: Point[] }} Series */

export const MAX_ENTRIES = 200;
export const MAX_POINTS = 300;
/** Series above which new ones are left out. */
export const MAX_SERIES = 24;
/** Levels of a payload that are searched for numbers. */
const MAX_DEPTH = 8;
/** Members beside a number that say what it is of. Two values of one member make two series. */
const CONTEXT = ["field", "name", "resourceId", "deviceId", "homeId"];
/** A decimal number as text. Without a point it may be the number of a meter. */
const DECIMAL = /^-?\d+\.\d+$/;

export class StreamLog {
  /** @type {Entry[]} */
  #entries = [];
  /** @type {Map<string, Series>} */
  #series = new Map();
  #count = 0;

  /** The kept entries, the newest last. */
  get entries() {
    return this.#entries;
  }

  /** The number of payloads since the start, also of those that are no longer kept. */
  get count() {
    return this.#count;
  }

  /** The series in the order in which they first had a number. */
  get series() {
    return [...this.#series.values()];
  }

  clear() {
    this.#entries = [];
    this.#series.clear();
    this.#count = 0;
  }

  /**
   * @param {Payload} payload
   * @param {number} at  Milliseconds since 1970 at which it arrived.
   * @returns {Entry}
   */
  add(payload, at) {
    this.#count += 1;
    const entry = { number: this.#count, at, payload };
    this.#entries.push(entry);
    if (this.#entries.length > MAX_ENTRIES) this.#entries.shift();
    this.#collect(payload.data, [], at, 0);
    return entry;
  }

  /**
   * @param {unknown} value
   * @param {string[]} path
   * @param {number} at
   * @param {number} depth
   */
  #collect(value, path, at, depth) {
    if (value === null || typeof value !== "object" || depth > MAX_DEPTH) return;
    // The items of a list have no names that stay the same from payload to payload, except the first.
    const members = Object.entries(Array.isArray(value) ? value.slice(0, 1) : value);
    for (const [name, member] of members) {
      const inner = Array.isArray(value) ? path : [...path, name];
      const number = toNumber(member);
      if (number === null) this.#collect(member, inner, at, depth + 1);
      else this.#addPoint(inner, value, { at: timeOf(value) ?? at, value: number });
    }
  }

  /**
   * @param {string[]} path
   * @param {object} owner
   * @param {Point} point
   */
  #addPoint(path, owner, point) {
    const members = /** @type {Record<string, unknown>} */ (owner);
    const context = CONTEXT.flatMap((name) => (typeof members[name] === "string" ? [shorten(String(members[name]))] : []));
    const unit = typeof members.unit === "string" ? members.unit : "";
    const label = [path.join("."), ...context].join(" · ");
    const series = this.#series.get(`${label} ${unit}`);
    if (series) {
      insertByTime(series.points, point);
      if (series.points.length > MAX_POINTS) series.points.shift();
    } else if (this.#series.size < MAX_SERIES) {
      this.#series.set(`${label} ${unit}`, { label, unit, points: [point] });
    }
  }
}

/**
 * Insert a point at its time. A point of the same time replaces the present one: it was sent again.
 * @param {Point[]} points
 * @param {Point} point
 */
function insertByTime(points, point) {
  let index = points.length;
  while (index > 0 && points[index - 1].at > point.at) index -= 1;
  const replaces = points[index - 1]?.at === point.at;
  points.splice(replaces ? index - 1 : index, replaces ? 1 : 0, point);
}

/**
 * @param {unknown} value
 * @returns {number | null}
 */
function toNumber(value) {
  if (typeof value === "number") return value;
  return typeof value === "string" && DECIMAL.test(value) ? Number(value) : null;
}

/**
 * Return the time that an object states, in milliseconds since 1970.
 * @param {object} owner
 * @returns {number | null}
 */
function timeOf(owner) {
  const at = "at" in owner && typeof owner.at === "string" ? Date.parse(owner.at) : NaN;
  return Number.isNaN(at) ? null : at;
}

/**
 * Return a text as a label: the end of an ID is different from that of others.
 * @param {string} text
 */
function shorten(text) {
  return text.length > 16 ? `…${text.slice(-6)}` : text;
}
