/** A text area for source, with the numbers of its lines beside it and marks where the report says something. */

export class SourceEditor {
  #area;
  #gutter;
  #marks = new Map();

  constructor(root) {
    this.#area = root.querySelector("textarea");
    this.#gutter = root.querySelector(".gutter");
    this.#area.addEventListener("input", () => this.#renderGutter());
    this.#area.addEventListener("scroll", () => (this.#gutter.scrollTop = this.#area.scrollTop));
  }

  get value() {
    return this.#area.value;
  }

  set value(text) {
    if (this.#area.value !== text) this.#area.value = text;
    this.#renderGutter();
  }

  /** `severities` by line; of several on a line, the first stays. */
  markLines(findings) {
    this.#marks = new Map();
    for (const { line, severity } of findings) {
      if (line && !this.#marks.has(line)) this.#marks.set(line, severity);
    }
    this.#renderGutter();
  }

  /** Select a line, counted from 1, and bring it into view. */
  goTo(line) {
    const lines = this.value.split("\n");
    const at = Math.min(line, lines.length) - 1;
    const start = lines.slice(0, at).reduce((sum, line) => sum + line.length + 1, 0);
    this.#area.focus();
    this.#area.setSelectionRange(start, start + lines[at].length);
    const height = this.#area.scrollHeight / Math.max(lines.length, 1);
    this.#area.scrollTop = Math.max(0, at * height - this.#area.clientHeight / 3);
    this.#area.scrollLeft = 0;
  }

  #renderGutter() {
    const count = this.#area.value.split("\n").length;
    const rows = Array.from({ length: count }, (_, index) => {
      const row = document.createElement("span");
      row.textContent = index + 1;
      const severity = this.#marks.get(index + 1);
      if (severity) row.dataset.severity = severity;
      return row;
    });
    this.#gutter.replaceChildren(...rows);
    this.#gutter.scrollTop = this.#area.scrollTop;
  }
}
