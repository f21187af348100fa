/** The report on a template: its findings, their lines, and hints. */

import { element, find } from "../shared/dom.js";

/** @import { Finding, TemplateReport } from "./templates.js" */

const SEVERITIES = { ERROR: "Error", WARNING: "Warning", INFO: "Note" };
const PARTS = { SUBJECT: "Subject", PREHEADER: "Preheader", HTML: "HTML", TEXT: "Text" };
/** Bytes above which the report has an error. Gmail cuts mails at about 102 KB. */
const MAX_BYTES = 100_000;

export class Report {
  /** @type {HTMLElement} */
  #root;
  /** @type {(finding: Finding) => void} */
  #onSelect;

  /**
   * @param {HTMLElement} root
   * @param {(finding: Finding) => void} onSelect
   * @param {() => void} onTryLinks  Called when the links and images are to be requested.
   */
  constructor(root, onSelect, onTryLinks) {
    this.#root = root;
    this.#onSelect = onSelect;
    find(root, ".try-links").addEventListener("click", onTryLinks);
  }

  /**
   * Show a report.
   * @param {TemplateReport} report
   */
  show({ ok, namesChecked, findings, htmlBytes }) {
    const verdict = find(this.#root, ".verdict");
    verdict.textContent = summarise(findings, namesChecked);
    verdict.dataset.severity = ok ? (findings[0]?.severity ?? "NONE") : "ERROR";
    find(this.#root, ".size").textContent = `${kilobytes(htmlBytes)} of ${kilobytes(MAX_BYTES)}`;
    find(this.#root, ".findings").replaceChildren(...findings.map((finding) => this.#item(finding)));
    find(this.#root, ".no-findings").hidden = findings.length > 0;
  }

  /** @param {Finding} finding */
  #item(finding) {
    const { severity, message, hint } = finding;
    const button = element(
      "button",
      { type: "button", "data-severity": severity },
      textSpan("severity", SEVERITIES[severity]),
      textSpan("message", message),
      textSpan("location", locationText(finding)),
      hint ? textSpan("hint", hint) : null,
    );
    button.addEventListener("click", () => this.#onSelect(finding));
    return element("li", {}, button);
  }
}

/**
 * Return the number of findings of each severity as a text, for example "1 error, 2 warnings".
 * @param {Finding[]} findings
 * @param {boolean} namesChecked whether the names of the variables were compared with those of the alert type
 * @returns {string}
 */
export function summarise(findings, namesChecked) {
  const counts = Object.entries({ ERROR: "error", WARNING: "warning", INFO: "note" }).flatMap(([severity, word]) => {
    const count = findings.filter((finding) => finding.severity === severity).length;
    return count ? [`${count} ${word}${count > 1 ? "s" : ""}`] : [];
  });
  return counts.join(", ") || (namesChecked ? "Ready to send" : "No errors; the alert type declares no variables");
}

/**
 * Return the part of the template that a finding is in; in the HTML and the text, with its line.
 * @param {Pick<Finding, "part" | "line">} finding
 * @returns {string}
 */
export function locationText({ part, line }) {
  const hasLines = part === "HTML" || part === "TEXT";
  return hasLines && line ? `${PARTS[part]}, line ${line}` : PARTS[part];
}

/**
 * @param {string} name
 * @param {string} text
 */
function textSpan(name, text) {
  return element("span", { class: name }, `${text} `);
}

/** @param {number} bytes */
function kilobytes(bytes) {
  return `${(bytes / 1000).toLocaleString([...navigator.languages], { maximumFractionDigits: 1 })} KB`;
}
