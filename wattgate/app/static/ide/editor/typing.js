/** Edits for keys: close brackets, indent lines and toggle comments. All functions are pure. */

/**
 * Replace a range by a text and select a range of the result.
 * @typedef {{ start: number, end: number, text: string, selectionStart: number, selectionEnd: number }} Edit
 */

/**
 * The text of a field and its selection.
 * @typedef {{ text: string, start: number, end: number }} FieldState
 */

export const INDENT = "  ";
/** @type {Record<string, string>} */
const PAIRS = { "(": ")", "[": "]", "{": "}", '"': '"' };
const CLOSING = new Set(Object.values(PAIRS));

/**
 * Return what typing a character does, or null if the browser should insert it.
 * @param {FieldState} state
 * @param {string} key
 * @returns {Edit | null}
 */
export function typeCharacter(state, key) {
  const { text, start, end } = state;
  const next = text[end] ?? "";
  if (start === end && CLOSING.has(key) && next === key && (key !== '"' || isQuoteOpen(text, start))) {
    return { start, end, text: "", selectionStart: start + 1, selectionEnd: start + 1 };
  }
  if (key === "}" && start === end) return closeBlock(state);
  const closing = PAIRS[key];
  if (!closing) return null;
  if (start !== end) {
    const inside = text.slice(start, end);
    return { start, end, text: key + inside + closing, selectionStart: start + 1, selectionEnd: end + 1 };
  }
  if (key === '"' && (isQuoteOpen(text, start) || text[start - 1] === '"')) return null;
  if (next && !/[\s)\]},]/.test(next)) return null;
  return { start, end, text: key + closing, selectionStart: start + 1, selectionEnd: start + 1 };
}

/**
 * Return what the Enter key does: the new line keeps the indentation, and is indented after an opening bracket.
 * @param {FieldState} state
 * @returns {Edit}
 */
export function breakLine({ text, start, end }) {
  const indent = indentOf(text, start);
  const before = text.slice(0, start).trimEnd().at(-1) ?? "";
  const sameLine = !text.slice(0, start).slice(text.slice(0, start).trimEnd().length).includes("\n");
  const isOpened = sameLine && "({[".includes(before) && before !== "";
  const inner = `\n${indent}${isOpened ? INDENT : ""}`;
  const isClosing = isOpened && text.slice(end).match(/^[ \t]*([)\]}])/)?.[1] === PAIRS[before];
  const added = isClosing ? `${inner}\n${indent}` : inner;
  const caret = start + inner.length;
  const skipped = isClosing ? text.slice(end).search(/[)\]}]/) : 0;
  return { start, end: end + skipped, text: added, selectionStart: caret, selectionEnd: caret };
}

/**
 * Return what Backspace does between an opening bracket and its closing one: both go. Null for all else.
 * @param {FieldState} state
 * @returns {Edit | null}
 */
export function removePair({ text, start, end }) {
  if (start !== end || start === 0) return null;
  const [before, after] = [text[start - 1], text[start]];
  if (PAIRS[before] !== after) return null;
  return { start: start - 1, end: start + 1, text: "", selectionStart: start - 1, selectionEnd: start - 1 };
}

/**
 * Indent the selected lines, or the other way round.
 * @param {FieldState} state
 * @param {boolean} outwards
 * @returns {Edit}
 */
export function shiftLines(state, outwards) {
  return editLines(state, (line) => {
    if (outwards) return line.replace(/^(?: {1,2}|\t)/, "");
    return line ? INDENT + line : line;
  });
}

/**
 * Make the selected lines comments, or the other way round if all are.
 * @param {FieldState} state
 * @returns {Edit}
 */
export function toggleComment(state) {
  const lines = selectedLines(state).text.split("\n").filter((line) => line.trim());
  const isComment = lines.length > 0 && lines.every((line) => /^\s*#/.test(line));
  const indent = Math.min(...lines.map((line) => line.search(/\S/)), 1_000);
  return editLines(state, (line) => {
    if (isComment) return line.replace(/^(\s*)# ?/, "$1");
    return line.trim() ? `${line.slice(0, indent)}# ${line.slice(indent)}` : line;
  });
}

/**
 * Return the offsets of the bracket next to the caret and of its partner, or null.
 * @param {string} text
 * @param {number} caret
 * @returns {[number, number] | null}
 */
export function matchBrackets(text, caret) {
  for (const at of [caret - 1, caret]) {
    const character = text[at];
    if (character === undefined || !"()[]{}".includes(character)) continue;
    const isOpening = "([{".includes(character);
    const partner = findPartner(text, at, isOpening ? 1 : -1);
    if (partner !== null) return isOpening ? [at, partner] : [partner, at];
  }
  return null;
}

/** Characters that are searched for the partner of a bracket. */
const MAX_SEARCHED = 50_000;

/**
 * @param {string} text
 * @param {number} at
 * @param {1 | -1} step
 * @returns {number | null}
 */
function findPartner(text, at, step) {
  const own = text[at];
  const wanted = { "(": ")", "[": "]", "{": "}", ")": "(", "]": "[", "}": "{" }[own];
  let depth = 0;
  for (let index = at; index >= 0 && index < text.length && Math.abs(index - at) < MAX_SEARCHED; index += step) {
    if (text[index] === own) depth += 1;
    if (text[index] === wanted) depth -= 1;
    if (depth === 0) return index;
  }
  return null;
}

/**
 * A closing brace on an empty line goes back to the indentation of its block.
 * @param {FieldState} state
 * @returns {Edit | null}
 */
function closeBlock({ text, start, end }) {
  const lineStart = text.lastIndexOf("\n", start - 1) + 1;
  const before = text.slice(lineStart, start);
  if (!before || before.trim()) return null;
  const opening = findPartner(`${text.slice(0, start)}}`, start, -1);
  const indent = opening === null ? before.slice(INDENT.length) : indentOf(text, opening);
  const caret = lineStart + indent.length + 1;
  return { start: lineStart, end, text: `${indent}}`, selectionStart: caret, selectionEnd: caret };
}

/**
 * @param {string} text
 * @param {number} offset
 */
function indentOf(text, offset) {
  const lineStart = text.lastIndexOf("\n", offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(lineStart, offset))?.[0] ?? "";
}

/**
 * Return whether a quote before the offset, in its line, has no partner.
 * @param {string} text
 * @param {number} offset
 */
function isQuoteOpen(text, offset) {
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  return (line.replace(/\\./g, "").match(/"/g)?.length ?? 0) % 2 === 1;
}

/** @param {FieldState} state */
function selectedLines({ text, start, end }) {
  const first = text.lastIndexOf("\n", start - 1) + 1;
  const lastCharacter = end > start && text[end - 1] === "\n" ? end - 1 : end;
  const found = text.indexOf("\n", lastCharacter);
  const last = found < 0 ? text.length : found;
  return { first, last, text: text.slice(first, last) };
}

/**
 * @param {FieldState} state
 * @param {(line: string) => string} change
 * @returns {Edit}
 */
function editLines(state, change) {
  const { first, last, text } = selectedLines(state);
  const lines = text.split("\n");
  const changed = lines.map(change);
  const shifted = changed[0].length - lines[0].length;
  const total = changed.join("\n");
  if (state.start === state.end) {
    const caret = Math.max(first, state.start + shifted);
    return { start: first, end: last, text: total, selectionStart: caret, selectionEnd: caret };
  }
  return { start: first, end: last, text: total, selectionStart: first, selectionEnd: first + total.length };
}
