/** Durations, sizes and counts as text, the same on every page. */

/**
 * Return a length of time.
 * @param {number} milliseconds
 * @returns {string}
 */
export function formatDuration(milliseconds) {
  return milliseconds < 1_000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1_000).toFixed(1)} s`;
}

/**
 * Return the size of a text or file.
 * @param {number} bytes
 * @returns {string}
 */
export function formatSize(bytes) {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/**
 * Return a number with separators of thousands.
 * @param {number} count
 * @returns {string}
 */
export function formatCount(count) {
  return count.toLocaleString("en-GB");
}

/**
 * Return a number with a noun, such as "2 errors".
 * @param {number} count
 * @param {string} noun
 * @returns {string}
 */
export function plural(count, noun) {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}
