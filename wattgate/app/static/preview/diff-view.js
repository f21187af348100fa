/** Shows the differences of two contents: old and new lines side by side, or one below the other on narrow screens. */

import { element } from "../shared/dom.js";
import { PARTS, collapseUnchanged, diffLines, splitChange } from "./diff.js";

/** @import { DiffGap, DiffRow, Line } from "./diff.js" */
/** @import { TemplateContent } from "./templates.js" */

/**
 * Return an element with the differences of two contents, one table for each part that differs.
 * @param {TemplateContent} before
 * @param {TemplateContent} after
 * @returns {HTMLElement}
 */
export function diffView(before, after) {
  const tables = PARTS.flatMap(([part, label]) => {
    const rows = diffLines(before[part] ?? "", after[part] ?? "");
    return rows.every(({ kind }) => kind === "same") ? [] : [diffTable(label, rows)];
  });
  if (!tables.length) return element("p", { class: "no-differences" }, "There are no differences.");
  return element("div", { class: "diff", "data-testid": "diff" }, tables);
}

/**
 * @param {string} label
 * @param {DiffRow[]} rows
 */
function diffTable(label, rows) {
  const heads = ["Line", "Before", "Line", "After"].map((text) => element("th", { scope: "col" }, text));
  return element(
    "table",
    {},
    element("caption", {}, label),
    element("colgroup", {}, ["number", "code", "number", "code"].map((name) => element("col", { class: name }))),
    element("thead", { class: "visually-hidden" }, element("tr", {}, heads)),
    element("tbody", {}, collapseUnchanged(rows).map(tableRow)),
  );
}

/** @param {DiffRow | DiffGap} row */
function tableRow(row) {
  if (row.kind === "gap") {
    const text = row.count === 1 ? "1 unchanged line" : `${row.count} unchanged lines`;
    return element("tr", { class: "gap" }, element("td", { colspan: "4" }, text));
  }
  const { kind, left, right } = row;
  const [old, added] = kind === "changed" && left && right ? splitChange(left.text, right.text) : [null, null];
  return element(
    "tr",
    { class: kind },
    lineCells("left", left, old, kind === "same" ? null : "del"),
    lineCells("right", right, added, kind === "same" ? null : "ins"),
  );
}

/**
 * @param {"left" | "right"} side
 * @param {Line | null} line
 * @param {[string, string, string] | null} parts  The line, with its changed part in the middle.
 * @param {"del" | "ins" | null} tag  The element of the changed part.
 */
function lineCells(side, line, parts, tag) {
  const number = element("td", { class: `number ${side}` }, line ? String(line.number) : "");
  if (!line) return [number, element("td", { class: `code ${side} none` })];
  const [start, changed, end] = parts ?? ["", line.text, ""];
  const middle = tag ? element(tag, parts ? { class: "part" } : {}, changed) : changed;
  return [number, element("td", { class: `code ${side}` }, start, middle, end)];
}
