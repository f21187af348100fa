/** The clipboard of the browser. */

/**
 * Copy a text. Return whether the browser allows it: pages that were loaded over plain HTTP have no clipboard.
 * @param {string} text
 * @returns {Promise<boolean>}
 */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
