/** The contents of a file, before and after its import: counts, sums by month as bars, gaps, and refused lines. */

import { capitalise, text } from "../display/texts.js";
import { element, find } from "../shared/dom.js";
import { formatAmount, formatCount, formatDay, formatMonth } from "./wording.js";

/** @import { Month, Report, Series } from "./requests.js" */
/** @import { TextKey } from "../display/texts.js" */

/** @type {Record<string, TextKey>} */
const ENERGIES = {
  "electricity.consumption": "energy.electricity",
  "gas.consumption": "energy.gas",
  "electricity.export": "energy.exported",
};

export class ReportView {
  /** @type {HTMLElement} */
  #root;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
  }

  /** @param {Report} report */
  show(report) {
    find(this.#root, "#report-title").textContent = title(report);
    find(this.#root, ".counts").textContent = counts(report);
    find(this.#root, ".series").replaceChildren(...report.series.map(toSection));
    this.#showRefused(report);
    for (const part of [".back", ".store"]) find(this.#root, part).hidden = report.stored;
    find(this.#root, ".store").toggleAttribute("disabled", report.added + report.replaced === 0);
    find(this.#root, "a.to-display").hidden = !report.stored && !report.isKnown;
  }

  /** @param {Report} report */
  #showRefused({ refused, refusedLines }) {
    const part = find(this.#root, ".refused");
    part.hidden = refused === 0;
    part.toggleAttribute("open", refused > 0 && refused <= 10);
    find(part, "summary").textContent = text("data.refused", { count: refused });
    const lines = refusedLines.map(({ line, reason }) => element("li", { lang: "en", value: `${line}` }, reason));
    find(part, "ol").replaceChildren(...lines);
  }
}

/** @param {Report} report */
function title({ stored, isKnown, added, replaced, recorded }) {
  if (recorded === 0) return text("data.nothing");
  if (isKnown) return text("data.known");
  return stored ? text("data.stored", { count: added + replaced }) : text("data.previewTitle", { count: added + replaced });
}

/** @param {Report} report */
function counts({ added, replaced, unchanged, repeated }) {
  /** @type {[TextKey, number][]} */
  const parts = [
    ["data.added", added],
    ["data.replaced", replaced],
    ["data.unchanged", unchanged],
    ["data.repeated", repeated],
  ];
  return parts
    .filter(([, count]) => count > 0)
    .map(([key, count]) => text(key, { count }))
    .join(" · ");
}

/** @param {Series} series */
function toSection(series) {
  const { classifier, unit, months, total, readings, first, last, missing } = series;
  const key = ENERGIES[classifier];
  const largest = Math.max(...months.map((month) => Math.abs(month.total)), 0);
  return element(
    "section",
    {},
    element("h3", {}, key ? capitalise(text(key)) : classifier),
    element(
      "p",
      {},
      text("data.span", { count: readings, first: formatDay(first), last: formatDay(last), total: formatAmount(total, unit) }),
    ),
    missing > 0 ? element("p", { class: "missing" }, text("data.missing", { count: missing })) : null,
    element(
      "table",
      { class: "months" },
      element("thead", { class: "visually-hidden" }, monthHeader()),
      element("tbody", {}, ...months.map((month) => toMonth(month, unit, largest))),
    ),
  );
}

function monthHeader() {
  const names = [text("data.month"), text("data.total"), text("data.readings")];
  return element("tr", {}, ...names.map((name) => element("th", { scope: "col" }, name)));
}

/**
 * @param {Month} month
 * @param {string} unit
 * @param {number} largest
 */
function toMonth({ month, total, readings }, unit, largest) {
  const bar = element("span", { class: "bar", "aria-hidden": "true" });
  bar.style.setProperty("--share", `${largest ? Math.abs(total) / largest : 0}`);
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, formatMonth(month)),
    element("td", { class: "total" }, bar, formatAmount(total, unit)),
    element("td", { class: "readings" }, formatCount(readings)),
  );
}
