/** Text as source code of a shell. */

/**
 * Return a text as one word of a POSIX shell.
 * @param {string} text
 * @returns {string}
 */
export function quoteForShell(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
