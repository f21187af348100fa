/**
 * Edits of the text of a document that leave everything else as it is: comments, line breaks and indentation. Positions
 * come from the nodes of its parser.
 */

/** @import { FieldNode, OperationNode, SelectionNode, SelectionSetNode } from "../language/ast.js" */

/**
 * A replacement of a part of a text.
 * @typedef {{ start: number, end: number, text: string }} Edit
 */

/**
 * A selection to write: a field, or an inline fragment if `name` begins with `...`. `children` is null for a leaf.
 * @typedef {{ name: string, args: { name: string, value: string }[], children: NewSelection[] | null }} NewSelection
 */

const INDENT = "  ";
/** Characters that separate tokens. */
const IGNORED = /[\s,\uFEFF]/;

/**
 * Return a text after edits that do not overlap.
 * @param {string} text
 * @param {Edit[]} edits
 * @returns {string}
 */
export function applyEdits(text, edits) {
  let result = text;
  for (const { start, end, text: replacement } of [...edits].sort((one, other) => other.start - one.start)) {
    result = result.slice(0, start) + replacement + result.slice(end);
  }
  return result;
}

/**
 * Return a selection as text. With an indentation, each of its own selections has a line.
 * @param {NewSelection} selection
 * @param {string | null} indent
 * @returns {string}
 */
function renderSelection({ name, args, children }, indent) {
  const values = args.map(({ name: arg, value }) => `${arg}: ${value}`).join(", ");
  const head = values ? `${name}(${values})` : name.replace(/^\.\.\./, "... on ");
  if (!children) return head;
  if (indent === null) return `${head} { ${children.map((child) => renderSelection(child, null)).join(" ")} }`;
  return `${head} ${renderBlock(children, indent)}`;
}

/**
 * Return selections in braces, each on a line of its own.
 * @param {NewSelection[]} selections
 * @param {string} indent  Of the line with the opening brace.
 * @returns {string}
 */
export function renderBlock(selections, indent) {
  const inner = indent + INDENT;
  return `{\n${selections.map((one) => `${inner}${renderSelection(one, inner)}\n`).join("")}${indent}}`;
}

/**
 * Return the edit that adds a selection at the end of a selection set, in the style of its last selection.
 * @param {string} text
 * @param {SelectionSetNode} set
 * @param {NewSelection} added
 * @returns {Edit}
 */
export function insertSelection(text, set, added) {
  const last = set.selections.at(-1);
  if (!last) {
    // Comments between the braces stay.
    const inside = text.slice(set.start + 1, set.end - 1).trim();
    const indent = indentOf(text, set.start);
    const kept = inside && `\n${indent}${INDENT}${inside}`;
    return { start: set.start, end: set.end, text: `{${kept}${renderBlock([added], indent).slice(1)}` };
  }
  if (!isFirstOnLine(text, last.start)) {
    return { start: last.end, end: last.end, text: ` ${renderSelection(added, null)}` };
  }
  const rest = text.slice(last.end, endOfLine(text, last.end));
  const at = /^[ \t,]*(#.*)?$/.test(rest) ? last.end + rest.length : last.end;
  const indent = indentOf(text, last.start);
  return { start: at, end: at, text: `\n${indent}${renderSelection(added, indent)}` };
}

/**
 * Return the edit that gives a field without selections its first one.
 * @param {string} text
 * @param {FieldNode} field
 * @param {NewSelection} added
 * @returns {Edit}
 */
export function insertSelectionSet(text, field, added) {
  const own = isFirstOnLine(text, field.start);
  const block = own ? renderBlock([added], indentOf(text, field.start)) : `{ ${renderSelection(added, null)} }`;
  return { start: field.end, end: field.end, text: ` ${block}` };
}

/**
 * Return the edit that removes a node, with its line if nothing else is on it.
 * @param {string} text
 * @param {{ start: number, end: number }} node
 * @returns {Edit}
 */
export function removeNode(text, { start, end }) {
  const lineEnd = endOfLine(text, end);
  const before = text.slice(startOfLine(text, start), start);
  const after = text.slice(end, lineEnd);
  if (!before.trim() && /^[\s,]*$/.test(after)) {
    return { start: start - before.length, end: Math.min(lineEnd + 1, text.length), text: "" };
  }
  const separated = end + (/^,+/.exec(after)?.[0].length ?? 0);
  // A comment after the node stays at its place.
  if (!before.trim()) return { start, end: separated + (/^[ \t]*/.exec(text.slice(separated))?.[0].length ?? 0), text: "" };
  let from = start;
  while (from > 0 && IGNORED.test(text[from - 1]) && text[from - 1] !== "\n") from -= 1;
  // The space after the node stays, so that its neighbours stay apart.
  return { start: from, end: separated, text: IGNORED.test(text[separated] ?? " ") ? "" : " " };
}

/**
 * Return the edit that adds an item to a list in parentheses, or that adds the list.
 * @param {string} text
 * @param {{ start: number, end: number }[]} items  The present ones.
 * @param {number} listAt  Where the list begins, if there is none.
 * @param {string} added
 * @returns {Edit}
 */
export function insertInParentheses(text, items, listAt, added) {
  const last = items.at(-1);
  if (!last) return { start: listAt, end: listAt, text: `(${added})` };
  const separator = isFirstOnLine(text, last.start) ? `\n${indentOf(text, last.start)}` : ", ";
  return { start: last.end, end: last.end, text: `${separator}${added}` };
}

/**
 * Return the edit that removes items of a list in parentheses; all of them with the parentheses.
 * @param {string} text
 * @param {{ start: number, end: number }[]} items  All items.
 * @param {{ start: number, end: number }[]} removed
 * @returns {Edit[]}
 */
export function removeFromParentheses(text, items, removed) {
  if (!removed.length) return [];
  if (removed.length === items.length) {
    const start = text.lastIndexOf("(", items[0].start);
    const end = text.indexOf(")", items[items.length - 1].end) + 1;
    const spaced = text[start - 1] === " " && text[end] === " ";
    return [{ start: spaced ? start - 1 : start, end, text: "" }];
  }
  return removed.map((item) => {
    const index = items.indexOf(item);
    const isLater = items.slice(0, index).some((one) => !removed.includes(one));
    // A separator goes with the item: the one before it, or the one after it if no item stays before it.
    return isLater
      ? { start: items[index - 1].end, end: item.end, text: "" }
      : { start: item.start, end: items[index + 1].start, text: "" };
  });
}

/**
 * Return the edit that names an operation without a name.
 * @param {string} text
 * @param {OperationNode} operation
 * @param {string} name
 * @returns {Edit}
 */
export function nameOperation(text, operation, name) {
  if (operation.isShort) return { start: operation.start, end: operation.start, text: `query ${name} ` };
  const at = keywordEnd(text, operation);
  return { start: at, end: at, text: ` ${name}` };
}

/**
 * Return the edit that declares a variable of an operation.
 * @param {string} text
 * @param {OperationNode} operation
 * @param {string} definition
 * @returns {Edit}
 */
export function declareVariable(text, operation, definition) {
  const { isShort, name, variableDefinitions, start } = operation;
  if (isShort) return { start, end: start, text: `query (${definition}) ` };
  const edit = insertInParentheses(text, variableDefinitions, name?.end ?? keywordEnd(text, operation), definition);
  return name || variableDefinitions.length ? edit : { ...edit, text: ` ${edit.text}` };
}

/**
 * Return the offset after the keyword of an operation.
 * @param {string} text
 * @param {OperationNode} operation
 * @returns {number}
 */
function keywordEnd(text, { description, start, operation }) {
  if (!description) return start + operation.length;
  const blanks = /(?:[\s,\uFEFF]|#.*)*/y;
  blanks.lastIndex = description.end;
  return description.end + (blanks.exec(text)?.[0].length ?? 0) + operation.length;
}

/**
 * Return the selections of a node, none if it has no selection set.
 * @param {{ selectionSet?: SelectionSetNode | null }} node
 * @returns {SelectionNode[]}
 */
export function selectionsOf({ selectionSet }) {
  return selectionSet?.selections ?? [];
}

/**
 * Return whether only blanks are before an offset on its line.
 * @param {string} text
 * @param {number} at
 */
function isFirstOnLine(text, at) {
  return !text.slice(startOfLine(text, at), at).trim();
}

/**
 * Return the blanks at the start of the line of an offset.
 * @param {string} text
 * @param {number} at
 * @returns {string}
 */
export function indentOf(text, at) {
  return /^[ \t]*/.exec(text.slice(startOfLine(text, at), at))?.[0] ?? "";
}

/**
 * @param {string} text
 * @param {number} at
 */
function startOfLine(text, at) {
  return text.lastIndexOf("\n", at - 1) + 1;
}

/**
 * @param {string} text
 * @param {number} at
 */
function endOfLine(text, at) {
  const found = text.indexOf("\n", at);
  return found < 0 ? text.length : found;
}
