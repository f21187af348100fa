/** Line differences between two sources, in rows that show the old lines beside the new ones. */

/** @import { TemplateContent } from "./templates.js" */

/** @typedef {{ number: number, text: string }} Line */

/**
 * A row: the old line, the new line, or both. A row of two different lines is a changed line.
 * @typedef {{ kind: "same" | "changed" | "removed" | "added", left: Line | null, right: Line | null }} DiffRow
 */

/** @typedef {{ kind: "gap", count: number }} DiffGap */

/** Cells of the table of common lines. Above it, the middle of two sources counts as replaced as a whole. */
const MAX_CELLS = 4_000_000;
const WORD = /\w/;
/** Unchanged lines that are shown before and after a change. */
const CONTEXT_LINES = 3;

/** The parts of a template's content, in the order in which they are shown. */
export const PARTS = /** @type {const} */ ([
  ["subject", "Subject"],
  ["preheader", "Preheader"],
  ["htmlTemplate", "HTML"],
  ["text", "Text"],
]);

/**
 * Return the rows of two sources.
 * @param {string} before
 * @param {string} after
 * @returns {DiffRow[]}
 */
export function diffLines(before, after) {
  const [left, right] = [splitLines(before), splitLines(after)];
  const start = commonStart(left, right);
  const end = commonEnd(left, right, start);
  const middle = [left.slice(start, left.length - end), right.slice(start, right.length - end)];
  return [
    ...pair(left.slice(0, start), right.slice(0, start)),
    ...diffMiddle(middle[0], middle[1]),
    ...pair(left.slice(left.length - end), right.slice(right.length - end)),
  ];
}

/**
 * Replace long runs of unchanged rows by gaps.
 * @param {DiffRow[]} rows
 * @returns {(DiffRow | DiffGap)[]}
 */
export function collapseUnchanged(rows) {
  const changed = rows.flatMap(({ kind }, index) => (kind === "same" ? [] : [index]));
  /** @type {(DiffRow | DiffGap)[]} */
  const collapsed = [];
  let hidden = 0;
  let next = 0;
  rows.forEach((row, index) => {
    while (next < changed.length && changed[next] + CONTEXT_LINES < index) next += 1;
    if (next < changed.length && Math.abs(changed[next] - index) <= CONTEXT_LINES) {
      if (hidden) collapsed.push({ kind: "gap", count: hidden });
      hidden = 0;
      collapsed.push(row);
    } else {
      hidden += 1;
    }
  });
  if (hidden) collapsed.push({ kind: "gap", count: hidden });
  return collapsed;
}

/**
 * Return the three parts of each of two lines: the common start, the difference in whole words, and the common end.
 * @param {string} before
 * @param {string} after
 * @returns {[[string, string, string], [string, string, string]]}
 */
export function splitChange(before, after) {
  let start = commonStart(before, after);
  while (start > 0 && isInWord(before, start) && isInWord(after, start)) start -= 1;
  let end = commonEnd(before, after, start);
  while (end > 0 && isInWord(before, before.length - end) && isInWord(after, after.length - end)) end -= 1;
  return [partsOf(before, start, end), partsOf(after, start, end)];
}

/**
 * Return the differences of two contents as a text, for example "the subject and 3 lines of the HTML".
 * @param {TemplateContent} before
 * @param {TemplateContent} after
 * @returns {string}  Empty if there are none.
 */
export function summariseChanges(before, after) {
  const texts = PARTS.flatMap(([part, label]) => {
    const rows = diffLines(before[part] ?? "", after[part] ?? "").filter(({ kind }) => kind !== "same");
    if (!rows.length) return [];
    const name = part === "htmlTemplate" ? "the HTML" : `the ${label.toLowerCase()}`;
    const isLong = part === "htmlTemplate" || part === "text";
    return [isLong ? `${rows.length} ${rows.length === 1 ? "line" : "lines"} of ${name}` : name];
  });
  if (texts.length < 2) return texts.join("");
  return `${texts.slice(0, -1).join(", ")} and ${texts[texts.length - 1]}`;
}

/**
 * Return whether a word goes on at an offset.
 * @param {string} text
 * @param {number} offset
 */
function isInWord(text, offset) {
  return WORD.test(text[offset - 1] ?? "") && WORD.test(text[offset] ?? "");
}

/** @param {string} source */
function splitLines(source) {
  const lines = source.split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  return lines.map((text, index) => ({ number: index + 1, text }));
}

/**
 * @param {ArrayLike<unknown>} left
 * @param {ArrayLike<unknown>} right
 */
function commonStart(left, right) {
  let count = 0;
  while (count < left.length && count < right.length && isSame(left[count], right[count])) count += 1;
  return count;
}

/**
 * @param {ArrayLike<unknown>} left
 * @param {ArrayLike<unknown>} right
 * @param {number} start
 */
function commonEnd(left, right, start) {
  const most = Math.min(left.length, right.length) - start;
  let count = 0;
  while (count < most && isSame(left[left.length - 1 - count], right[right.length - 1 - count])) count += 1;
  return count;
}

/**
 * Compare two lines by their text, or two characters.
 * @param {any} left
 * @param {any} right
 */
function isSame(left, right) {
  return typeof left === "string" ? left === right : left.text === right.text;
}

/**
 * @param {string} text
 * @param {number} start
 * @param {number} end
 * @returns {[string, string, string]}
 */
function partsOf(text, start, end) {
  return [text.slice(0, start), text.slice(start, text.length - end), text.slice(text.length - end)];
}

/**
 * @param {Line[]} left
 * @param {Line[]} right
 * @returns {DiffRow[]}
 */
function diffMiddle(left, right) {
  if (left.length * right.length > MAX_CELLS) return replace(left, right);
  const width = right.length + 1;
  const lengths = new Uint32Array((left.length + 1) * width);
  for (let row = left.length - 1; row >= 0; row -= 1) {
    for (let column = right.length - 1; column >= 0; column -= 1) {
      const cell = row * width + column;
      lengths[cell] = isSame(left[row], right[column])
        ? lengths[cell + width + 1] + 1
        : Math.max(lengths[cell + width], lengths[cell + 1]);
    }
  }
  return followCommonLines(left, right, (row, column) => lengths[row * width + column]);
}

/**
 * @param {Line[]} left
 * @param {Line[]} right
 * @param {(row: number, column: number) => number} length  Common lines from a row and a column on.
 */
function followCommonLines(left, right, length) {
  /** @type {DiffRow[]} */
  const rows = [];
  let [row, column, leftStart, rightStart] = [0, 0, 0, 0];
  while (row < left.length && column < right.length) {
    if (isSame(left[row], right[column])) {
      rows.push(...replace(left.slice(leftStart, row), right.slice(rightStart, column)));
      rows.push({ kind: "same", left: left[row], right: right[column] });
      row += 1;
      column += 1;
      [leftStart, rightStart] = [row, column];
    } else if (length(row + 1, column) >= length(row, column + 1)) {
      row += 1;
    } else {
      column += 1;
    }
  }
  return [...rows, ...replace(left.slice(leftStart), right.slice(rightStart))];
}

/**
 * @param {Line[]} left
 * @param {Line[]} right
 * @returns {DiffRow[]}
 */
function pair(left, right) {
  return left.map((line, index) => ({ kind: "same", left: line, right: right[index] }));
}

/**
 * Return the rows of lines that were replaced by others.
 * @param {Line[]} left
 * @param {Line[]} right
 * @returns {DiffRow[]}
 */
function replace(left, right) {
  return Array.from({ length: Math.max(left.length, right.length) }, (_, index) => {
    const [old, added] = [left[index] ?? null, right[index] ?? null];
    return { kind: old && added ? "changed" : old ? "removed" : "added", left: old, right: added };
  });
}
