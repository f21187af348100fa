/** The line of a series in a box of given size, and the same in words. */

/** @import { Point, Series } from "./stream-log.js" */

/**
 * The line as the `d` of an SVG path; a single point is a short line. `low` and `high` are the values at the bottom and
 * the top of the box.
 * @typedef {{ line: string, low: number, high: number, last: { x: number, y: number } }} Drawing
 */

const DIGITS = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 6 });

/**
 * Draw points. There is at least one.
 * @param {Point[]} points
 * @param {number} width
 * @param {number} height
 * @returns {Drawing}
 */
export function drawLine(points, width, height) {
  const values = points.map(({ value }) => value);
  const [least, greatest] = [Math.min(...values), Math.max(...values)];
  // A constant value is a line in the middle.
  const margin = greatest === least ? Math.abs(greatest) / 2 || 1 : 0;
  const [low, high] = [least - margin, greatest + margin];
  const [from, to] = [points[0].at, points[points.length - 1].at];
  const places = points.map(({ at, value }) => ({
    x: round(to === from ? width : ((at - from) / (to - from)) * width),
    y: round(height - ((value - low) / (high - low)) * height),
  }));
  const last = places[places.length - 1];
  const line = places.map(({ x, y }, index) => `${index ? "L" : "M"}${x} ${y}`).join(" ");
  return { line: places.length === 1 ? `M0 ${last.y} L${last.x} ${last.y}` : line, low, high, last };
}

/**
 * Return a series in words, for screen readers and as the caption.
 * @param {Series} series
 * @returns {string}
 */
export function describeSeries({ label, unit, points }) {
  const values = points.map(({ value }) => value);
  const text = (/** @type {number} */ value) => `${DIGITS.format(value)}${unit && ` ${unit}`}`;
  const last = text(values[values.length - 1]);
  if (values.length === 1) return `${label}: ${last}, one value so far.`;
  const span = formatSpan(points[points.length - 1].at - points[0].at);
  return `${label}: ${last} now, from ${text(Math.min(...values))} to ${text(Math.max(...values))}, ${values.length} values in ${span}.`;
}

/**
 * @param {number} milliseconds
 * @returns {string}
 */
function formatSpan(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 10) / 10;
}
