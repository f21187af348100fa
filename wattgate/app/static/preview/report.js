/** The report on a template: what is wrong, where, and what may be done about it. */

const SEVERITIES = { ERROR: "Error", WARNING: "Warning", INFO: "Note" };
const PARTS = { SUBJECT: "Subject", PREHEADER: "Preheader", HTML: "HTML", TEXT: "Text" };
const MAX_BYTES = 100_000;

export class Report {
  #root;
  #onSelect;

  /** `onSelect` is called with the finding whose place is wanted. */
  constructor(root, onSelect) {
    this.#root = root;
    this.#onSelect = onSelect;
  }

  show({ ok, findings, htmlBytes }) {
    const verdict = this.#root.querySelector(".verdict");
    verdict.textContent = summary(findings);
    verdict.dataset.severity = ok ? (findings[0]?.severity ?? "NONE") : "ERROR";
    this.#root.querySelector(".size").textContent = `${kilobytes(htmlBytes)} of ${kilobytes(MAX_BYTES)}`;
    this.#root.querySelector(".findings").replaceChildren(...findings.map((finding) => this.#item(finding)));
    this.#root.querySelector(".no-findings").hidden = findings.length > 0;
  }

  #item(finding) {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.severity = finding.severity;
    button.append(
      textSpan("severity", SEVERITIES[finding.severity]),
      textSpan("message", finding.message),
      textSpan("location", location(finding)),
    );
    if (finding.hint) button.append(textSpan("hint", finding.hint));
    button.addEventListener("click", () => this.#onSelect(finding));
    item.append(button);
    return item;
  }
}

function textSpan(name, text) {
  const span = document.createElement("span");
  span.className = name;
  span.textContent = `${text} `;
  return span;
}

function location({ part, line }) {
  const several = part === "HTML" || part === "TEXT";
  return several && line ? `${PARTS[part]}, line ${line}` : PARTS[part];
}

function summary(findings) {
  const counted = Object.entries({ ERROR: "error", WARNING: "warning", INFO: "note" }).flatMap(([severity, word]) => {
    const count = findings.filter((finding) => finding.severity === severity).length;
    return count ? [`${count} ${word}${count > 1 ? "s" : ""}`] : [];
  });
  return counted.join(", ") || "Ready to send";
}

function kilobytes(bytes) {
  return `${(bytes / 1000).toLocaleString("en-GB", { maximumFractionDigits: 1 })} KB`;
}
