/** The list of problems below an editor. A click goes to the place; a problem with a known correction has a button for it. */

import { element } from "../shared/dom.js";
import { positionOf } from "./editor/positions.js";

/** @import { Problem } from "./language/ast.js" */

const MAX_SHOWN = 20;

/**
 * @param {HTMLElement} root
 * @param {Problem[]} problems
 * @param {string} text
 */
export function showProblems(root, problems, text) {
  root.hidden = !problems.length;
  const rows = problems.slice(0, MAX_SHOWN).map((problem) => makeRow(problem, text));
  const more = problems.length - rows.length;
  const list = element("ul", {}, rows, more > 0 ? element("li", { class: "more-problems" }, `${more} more`) : null);
  // Rows that are the same stay, so that a focus in them stays too.
  if (root.firstElementChild?.isEqualNode(list)) return;
  root.replaceChildren(list);
}

/**
 * @param {Problem} problem
 * @param {string} text
 */
function makeRow({ start, end, message, fix }, text) {
  const { line, column } = positionOf(text, start);
  const go = element(
    "button", { type: "button", class: "problem", "data-testid": "problem" },
    element("span", { class: "place" }, `${line}:${column}`), " ", message,
  );
  const correct = fix
    ? element("button", { type: "button", class: "quiet-button fix", "data-fix": fix.text, "data-testid": "fix" }, fix.title)
    : null;
  return element("li", { "data-start": String(start), "data-end": String(end) }, go, correct);
}
