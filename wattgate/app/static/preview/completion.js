/** Completion of the names of variables: which name is being typed, and which ones fit. */

/** Names that are offered at a time. */
export const MAX_OFFERED = 8;
/** Characters before the caret that are searched for the start of a block. */
const MAX_LOOK_BACK = 500;
const BLOCK_ENDS = /\}\}|%\}/;
/** The start of a name, which follows a space, an operator or the start of the block, but no filter sign. */
const TYPED_NAME = /(?:^|[\s(,:=<>!-])([A-Za-z_][\w.]*|)$/;

/**
 * Return the offset and the text of the name that ends at the caret, or null if none is typed there.
 * @param {string} source
 * @param {number} caret
 * @returns {{ start: number, prefix: string } | null}
 */
export function findTypedName(source, caret) {
  const before = source.slice(Math.max(0, caret - MAX_LOOK_BACK), caret);
  const opened = Math.max(before.lastIndexOf("{{"), before.lastIndexOf("{%"));
  if (opened < 0) return null;
  const inside = before.slice(opened + 2);
  if (BLOCK_ENDS.test(inside) || isQuoted(inside)) return null;
  const typed = TYPED_NAME.exec(inside);
  if (!typed) return null;
  const [prefix] = typed.slice(1);
  if (/\|\s*$/.test(inside.slice(0, inside.length - prefix.length))) return null;
  return { start: caret - prefix.length, prefix };
}

/**
 * Return the names that complete a prefix: those that start with it, then those that contain it.
 * @param {string[]} names
 * @param {string} prefix
 * @returns {string[]}  Empty if only the typed name itself fits.
 */
export function offerNames(names, prefix) {
  const typed = prefix.toLowerCase();
  const starting = names.filter((name) => name.toLowerCase().startsWith(typed));
  const containing = names.filter((name) => !starting.includes(name) && name.toLowerCase().includes(typed));
  const offered = [...starting, ...containing].slice(0, MAX_OFFERED);
  return offered.length === 1 && offered[0] === prefix ? [] : offered;
}

/**
 * Return the source that inserts a variable. The items of a list are written in a loop.
 * @param {string} name
 */
export function insertionOf(name) {
  const [list, item] = name.split(/\[\]\.?/, 2);
  if (item === undefined) return `{{ ${name} }}`;
  return `{% for item in ${list} %}{{ item${item ? `.${item}` : ""} }}{% endfor %}`;
}

/** @param {string} text */
function isQuoted(text) {
  let quote = "";
  for (const character of text) {
    if (quote) quote = character === quote ? "" : quote;
    else if (character === '"' || character === "'") quote = character;
  }
  return quote !== "";
}
