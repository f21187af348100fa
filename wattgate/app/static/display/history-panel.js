/** The history: hours, days, weeks or months as bars, in pounds or in kWh, with what each bar is worth. */

import { BarChart } from "./bars.js";
import { now } from "../shared/clock.js";
import { axisMoney, axisNumber, energy, smallMoney } from "./format.js";
import { VIEWS, columnsOf, summary } from "./history.js";
import { nameOf, tickOf } from "./spans.js";

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
  #ask;
  #series = null;
  #shown = null;
  #columns = [];
  #wallClock = null;

  /** `ask` is called when the chosen view is to be read. */
  constructor(section, ask) {
    this.#section = section;
    this.#ask = ask;
    this.#part = (name) => section.querySelector(`.${name}`);
    this.#chart = new BarChart(section, (index) => this.#read(index));
    section.addEventListener("change", ({ target }) => (target.name === "view" ? this.#leave() : this.#update()));
  }

  get view() {
    return this.#section.querySelector('[name="view"]:checked').value;
  }

  /** Begin with a home that has these energies. */
  begin(energies, wallClock) {
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
    this.#wait("");
  }

  /** Show what was read of a view. Views that are no longer chosen are passed over. */
  show(view, series) {
    if (view !== this.view) return;
    this.#series = series;
    this.#shown = view;
    this.#wait("");
    this.#section.setAttribute("aria-busy", "false");
    this.#update();
  }

  /** Say that the chosen view cannot be read at the moment. Bars that are there stay. */
  fail() {
    if (this.#shown !== this.view) this.#wait("The history cannot be read. Trying again soon.");
  }

  #leave() {
    this.clear();
    this.#ask();
  }

  #wait(notice) {
    this.#part("chart-notice").textContent = notice;
    this.#section.setAttribute("aria-busy", String(!this.#series));
  }

  #update() {
    if (!this.#series) return;
    this.#columns = columnsOf(this.#measureInput().value, this.#series, this.#shown, now());
    const bars = this.#columns.map((column) => this.#bar(column));
    this.#chart.show(bars, this.#measureInput().value === "cost" ? axisMoney : axisNumber);
    this.#part("legend").replaceChildren(...this.#legend());
  }

  #bar(column) {
    const name = nameOf(this.#shown, column, this.#wallClock);
    const details = [...this.#breakdown(column), ...worth(column)];
    return {
      parts: column.parts,
      marks: column.marks,
      label: `${name}: ${[this.#amount(column), ...details].filter(Boolean).join(", ")}`,
      tick: tickOf(this.#shown, column, this.#wallClock, now()),
    };
  }

  /** Tell the bar at an index, or all of them together. */
  #read(index) {
    const column = index === null ? null : this.#columns[index];
    if (column) {
      const details = [...this.#breakdown(column), ...worth(column)];
      this.#tell(nameOf(this.#shown, column, this.#wallClock), this.#amount(column) || "–", details.join(" · "));
    } else {
      const { total, mean } = summary(this.#columns);
      const { title, each } = VIEWS[this.view];
      const average = mean === null ? "" : `${this.#write(mean)} ${each} on average`;
      this.#tell(title, total === null ? "–" : this.#write(total), average);
    }
  }

  #tell(name, value, detail) {
    this.#part("readout-name").textContent = name;
    this.#part("readout-value").textContent = value;
    this.#part("readout-detail").textContent = detail;
  }

  #amount({ value }) {
    return value === null ? "" : this.#write(value);
  }

  #write(value) {
    return this.#measureInput().value === "cost" ? smallMoney(value) : energy(value);
  }

  #breakdown({ parts }) {
    if (parts.length < 2) return [];
    return parts.map(([name, value]) => `${PARTS[name].toLowerCase()} ${smallMoney(value)}`);
  }

  #legend() {
    const parts = new Set(this.#columns.flatMap((column) => column.parts.map(([name]) => name)));
    const marks = new Set(this.#columns.flatMap((column) => worthMarks(column)));
    return [
      ...(parts.size > 1 ? [...parts].map((name) => legendItem("part", name, PARTS[name])) : []),
      ...LEGEND.filter((mark) => marks.has(mark)).map((mark) => legendItem("mark", mark, capitalised(MARKS[mark]))),
    ];
  }

  #measureInput() {
    return this.#section.querySelector('[name="measure"]:checked');
  }
}

function worth(column) {
  return worthMarks(column).map((mark) => MARKS[mark]);
}

/** A bar without any value is only told to be missing or still to come. */
function worthMarks({ value, marks }) {
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
