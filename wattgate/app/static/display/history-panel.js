/** The history: hours, days, weeks or months as bars, in pounds or in kWh, with what unit bar is worth. */

import { BarChart } from "./bar-chart.js";
import { now } from "../shared/clock.js";
import { formatAxisMoney, formatAxisNumber, formatEnergy, formatMoneyShort } from "./format.js";
import { VIEWS, buildColumns, summarise } from "./history.js";
import { bucketName, bucketTick } from "./bucket-labels.js";

const PARTS = { electricity: "Electricity", gas: "Gas", exported: "Exported", standing: "Standing charge" };
const MARKS = {
  running: "so far",
  late: "not all in yet",
  estimated: "partly estimated",
  gaps: "some readings missing",
  missing: "no readings",
  unpriced: "some without a price",
};
const LEGEND = ["running", "late", "estimated", "gaps", "missing", "unpriced"];

export class HistoryPanel {
  #section;
  #chart;
  #part;
  #requestHistory;
  #series = null;
  #shown = null;
  #columns = [];
  #wallClock = null;

  /** `requestHistory` is called when the chosen view is to be read. */
  constructor(section, requestHistory) {
    this.#section = section;
    this.#requestHistory = requestHistory;
    this.#part = (name) => section.querySelector(`.${name}`);
    this.#chart = new BarChart(section, (index) => this.#showReadout(index));
    section.addEventListener("change", ({ target }) => (target.name === "view" ? this.#changeView() : this.#update()));
  }

  get view() {
    return this.#section.querySelector('[name="view"]:checked').value;
  }

  /** Begin with a home that has these energies. */
  setHome(energies, wallClock) {
    this.#wallClock = wallClock;
    for (const input of this.#section.querySelectorAll('[name="measure"]')) {
      input.parentElement.hidden = input.value !== "cost" && !(input.value in energies);
    }
    if (this.#measureInput().parentElement.hidden) this.#section.querySelector('[value="cost"]').checked = true;
    this.clear();
  }

  clear() {
    this.#series = this.#shown = null;
    this.#columns = [];
    this.#chart.clear();
    this.#part("legend").replaceChildren();
    this.#setNotice("");
  }

  /** Show what was read of a view. Views that are no longer chosen are passed over. */
  show(view, series) {
    if (view !== this.view) return;
    this.#series = series;
    this.#shown = view;
    this.#setNotice("");
    this.#section.setAttribute("aria-busy", "false");
    this.#update();
  }

  /** Say that the chosen view cannot be read at the moment. Bars that are there stay. */
  fail() {
    if (this.#shown !== this.view) this.#setNotice("The history cannot be read. Trying again soon.");
  }

  #changeView() {
    this.clear();
    this.#requestHistory();
  }

  #setNotice(notice) {
    this.#part("chart-notice").textContent = notice;
    this.#section.setAttribute("aria-busy", String(!this.#series));
  }

  #update() {
    if (!this.#series) return;
    this.#columns = buildColumns(this.#measureInput().value, this.#series, this.#shown, now());
    const bars = this.#columns.map((column) => this.#buildBar(column));
    this.#chart.show(bars, this.#measureInput().value === "cost" ? formatAxisMoney : formatAxisNumber);
    this.#part("legend").replaceChildren(...this.#legend());
  }

  #buildBar(column) {
    const name = bucketName(this.#shown, column, this.#wallClock);
    const details = [...this.#breakdown(column), ...markTexts(column)];
    return {
      parts: column.parts,
      marks: column.marks,
      label: `${name}: ${[this.#amount(column), ...details].filter(Boolean).join(", ")}`,
      tick: bucketTick(this.#shown, column, this.#wallClock, now()),
    };
  }

  /** Tell the bar at an index, or all of them together. */
  #showReadout(index) {
    const column = index === null ? null : this.#columns[index];
    if (column) {
      const details = [...this.#breakdown(column), ...markTexts(column)];
      this.#setReadout(bucketName(this.#shown, column, this.#wallClock), this.#amount(column) || "–", details.join(" · "));
    } else {
      const { total, mean } = summarise(this.#columns);
      const { title, unit } = VIEWS[this.view];
      const average = mean === null ? "" : `${this.#format(mean)} ${unit} on average`;
      this.#setReadout(title, total === null ? "–" : this.#format(total), average);
    }
  }

  #setReadout(name, value, detail) {
    this.#part("readout-name").textContent = name;
    this.#part("readout-value").textContent = value;
    this.#part("readout-detail").textContent = detail;
  }

  #amount({ value }) {
    return value === null ? "" : this.#format(value);
  }

  #format(value) {
    return this.#measureInput().value === "cost" ? formatMoneyShort(value) : formatEnergy(value);
  }

  #breakdown({ parts }) {
    if (parts.length < 2) return [];
    return parts.map(([name, value]) => `${PARTS[name].toLowerCase()} ${formatMoneyShort(value)}`);
  }

  #legend() {
    const parts = new Set(this.#columns.flatMap((column) => column.parts.map(([name]) => name)));
    const marks = new Set(this.#columns.flatMap((column) => relevantMarks(column)));
    return [
      ...(parts.size > 1 ? [...parts].map((name) => legendItem("part", name, PARTS[name])) : []),
      ...LEGEND.filter((mark) => marks.has(mark)).map((mark) => legendItem("mark", mark, capitalised(MARKS[mark]))),
    ];
  }

  #measureInput() {
    return this.#section.querySelector('[name="measure"]:checked');
  }
}

function markTexts(column) {
  return relevantMarks(column).map((mark) => MARKS[mark]);
}

/** A bar without any value is only told to be missing or still to come. */
function relevantMarks({ value, marks }) {
  return LEGEND.filter((mark) => marks.has(mark) && (value !== null || ["late", "missing", "running"].includes(mark)));
}

function capitalised(text) {
  return text[0].toUpperCase() + text.slice(1);
}

function legendItem(kind, name, text) {
  const item = document.createElement("li");
  const swatch = document.createElement("span");
  swatch.className = "swatch";
  swatch.dataset[kind] = name;
  item.append(swatch, text);
  return item;
}
