/** The code that a screen shows and a user enters: eight characters in two groups. */

export const CODE_LENGTH = 8;

/**
 * Return the characters of a code, in capitals. Spaces, dashes and other signs between them do not count.
 * @param {string} typed
 * @returns {string}
 */
export function codeCharacters(typed) {
  return typed.normalize("NFKC").toUpperCase().replace(/[^A-Z0-9]/g, "");
}

/**
 * Return a code as the screen shows it, such as BCDF-2345. A part of a code stays a part.
 * @param {string} typed
 * @returns {string}
 */
export function formatCode(typed) {
  const characters = codeCharacters(typed);
  const half = CODE_LENGTH / 2;
  return characters.length > half ? `${characters.slice(0, half)}-${characters.slice(half)}` : characters;
}

/**
 * Return the code in the fragment of an address, or an empty text.
 * @param {string} fragment  With or without its hash sign.
 * @returns {string}
 */
export function codeOfFragment(fragment) {
  const text = fragment.replace(/^#/, "");
  const code = formatCode(/^[\w%\s-]{1,40}$/.test(text) ? text.replace(/%20/g, " ") : "");
  return codeCharacters(code).length === CODE_LENGTH ? code : "";
}

/**
 * Return a code with each character apart, so that a screen reader spells it.
 * @param {string} code
 * @returns {string}
 */
export function spellCode(code) {
  return formatCode(code)
    .split("-")
    .map((group) => [...group].join(" "))
    .join(", ");
}
