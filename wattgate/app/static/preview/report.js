/** The report on a template: what is wrong, where, and what may be done about it. */

const SEVERITIES = { ERROR: "Error", WARNING: "Warning", INFO: "Note" };
const PARTS = { SUBJECT: "Subject", PREHEADER: "Preheader", HTML: "HTML", TEXT: "Text" };
const LARGEST = 100_000;

export class Report {
  #root;
  #goTo;

  /** `goTo` is called with the finding whose place is wanted. */
  constructor(root, goTo) {
    this.#root = root;
    this.#goTo = goTo;
  }

  show({ ok, findings, htmlBytes }) {
    const verdict = this.#root.querySelector(".verdict");
    verdict.textContent = summary(findings);
    verdict.dataset.severity = ok ? (findings[0]?.severity ?? "NONE") : "ERROR";
    this.#root.querySelector(".size").textContent = `${kilobytes(htmlBytes)} of ${kilobytes(LARGEST)}`;
    this.#root.querySelector(".findings").replaceChildren(...findings.map((one) => this.#item(one)));
    this.#root.querySelector(".nothing-found").hidden = findings.length > 0;
  }

  #item(finding) {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.severity = finding.severity;
    button.append(
      told("severity", SEVERITIES[finding.severity]),
      told("message", finding.message),
      told("place", place(finding)),
    );
    if (finding.hint) button.append(told("hint", finding.hint));
    button.addEventListener("click", () => this.#goTo(finding));
    item.append(button);
    return item;
  }
}

function told(name, text) {
  const span = document.createElement("span");
  span.className = name;
  span.textContent = `${text} `;
  return span;
}

function place({ part, line }) {
  const several = part === "HTML" || part === "TEXT";
  return several && line ? `${PARTS[part]}, line ${line}` : PARTS[part];
}

function summary(findings) {
  const counted = Object.entries({ ERROR: "error", WARNING: "warning", INFO: "note" }).flatMap(([severity, word]) => {
    const count = findings.filter((one) => one.severity === severity).length;
    return count ? [`${count} ${word}${count > 1 ? "s" : ""}`] : [];
  });
  return counted.join(", ") || "Ready to send";
}

function kilobytes(bytes) {
  return `${(bytes / 1000).toLocaleString("en-GB", { maximumFractionDigits: 1 })} KB`;
}
