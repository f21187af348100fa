/** Offsets of a text as lines and columns, both counted from 1 as in GraphQL errors, and the other way round. */

/**
 * @param {string} text
 * @param {number} offset
 * @returns {{ line: number, column: number }}
 */
export function positionOf(text, offset) {
  let line = 1;
  let start = 0;
  for (let next = text.indexOf("\n"); next >= 0 && next < offset; next = text.indexOf("\n", next + 1)) {
    line += 1;
    start = next + 1;
  }
  return { line, column: offset - start + 1 };
}

/**
 * Return the offset of a position. It is never behind the end of its line.
 * @param {string} text
 * @param {{ line: number, column: number }} position
 */
export function offsetOf(text, { line, column }) {
  let start = 0;
  for (let count = 1; count < line; count += 1) {
    const next = text.indexOf("\n", start);
    if (next < 0) return text.length;
    start = next + 1;
  }
  const found = text.indexOf("\n", start);
  const end = found < 0 ? text.length : found;
  return Math.min(start + Math.max(0, column - 1), end);
}
