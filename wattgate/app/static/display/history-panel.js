/** The history panel: hours, days, weeks or months as bars, in pounds or in units of energy. */

import { now } from "../shared/clock.js";
import { element, find, findAllAs, findAs } from "../shared/dom.js";
import { BarChart } from "./bar-chart.js";
import { bucketName, bucketTick } from "./bucket-labels.js";
import { formatAxisMoney, formatAxisNumber, formatEnergy, formatMoneyShort, NOTHING, WallClock } from "./format.js";
import { inclusionText, reasonText } from "./cost-basis.js";
import { buildColumns, costInclusions, hasNoTariff, summarise } from "./history.js";
import { onNotationChange } from "./notation.js";
import { capitalise, text } from "./texts.js";

/** @import { ResourceIds, Series } from "../shared/gateway.js" */
/** @import { Bar } from "./bar-chart.js" */
/** @import { Column, Mark, Measure, ViewName } from "./history.js" */
/** @import { TextKey } from "./texts.js" */

/** @type {Mark[]} */
const LEGEND = ["running", "late", "estimated", "gaps", "missing", "unpriced", "noTariff", "noPrice"];
/** The marks that are shown for a column without a value. The others say nothing about it. */
const MARKS_WITHOUT_VALUE = new Set(["late", "missing", "running", "noTariff", "noPrice"]);

export class HistoryPanel {
  /** @type {HTMLElement} */
  #section;
  /** @type {BarChart} */
  #chart;
  /** @type {() => void} */
  #requestHistory;
  /** @type {Record<string, Series> | null} */
  #series = null;
  /** @type {ViewName | null} */
  #shown = null;
  /** @type {Column[]} */
  #columns = [];
  #wallClock = new WallClock();

  /**
   * @param {HTMLElement} section
   * @param {() => void} requestHistory  Called when the user selects another view. Pass its data to `show`.
   */
  constructor(section, requestHistory) {
    this.#section = section;
    this.#requestHistory = requestHistory;
    this.#chart = new BarChart(section, (index) => this.#showReadout(index));
    section.addEventListener("change", ({ target }) => {
      if (target instanceof HTMLInputElement && target.name === "view") this.#changeView();
      else this.#update();
    });
    onNotationChange(() => this.#update());
  }

  /**
   * The selected view.
   * @returns {ViewName}
   */
  get view() {
    return /** @type {ViewName} */ (this.#input('[name="view"]:checked').value);
  }

  /**
   * Select a view before its data is read.
   * @param {ViewName} view
   */
  selectView(view) {
    this.#input(`[name="view"][value="${view}"]`).checked = true;
  }

  /**
   * Prepare for a home: offer the measures that it has.
   * @param {ResourceIds} energies
   * @param {WallClock} wallClock
   */
  setHome(energies, wallClock) {
    this.#wallClock = wallClock;
    this.#offerMeasures(energies);
    this.clear();
  }

  /**
   * Offer the costs and the measures of these energies.
   * @param {Record<string, unknown>} energies  By name.
   */
  #offerMeasures(energies) {
    for (const input of findAllAs(this.#section, '[name="measure"]', HTMLInputElement)) {
      labelOf(input).hidden = input.value !== "cost" && !(input.value in energies);
    }
    if (labelOf(this.#measureInput).hidden) this.#input('[value="cost"]').checked = true;
  }

  /** Remove all bars. */
  clear() {
    this.#series = this.#shown = null;
    this.#columns = [];
    this.#chart.clear();
    this.#part("legend").replaceChildren();
    this.#part("history-basis").textContent = "";
    this.#setNotice("");
  }

  /**
   * Show the data of a view. It is ignored if another view is selected by now.
   * @param {ViewName} view
   * @param {Record<string, Series>} series  By energy, without those that are withheld.
   */
  show(view, series) {
    if (view !== this.view) return;
    this.#offerMeasures(series);
    this.#series = series;
    this.#shown = view;
    this.#setNotice("");
    this.#section.setAttribute("aria-busy", "false");
    this.#update();
  }

  /** Report that the selected view could not be read. Bars that are shown stay. */
  fail() {
    if (this.#shown !== this.view) this.#setNotice(text("history.failed"));
  }

  #changeView() {
    this.clear();
    this.#requestHistory();
  }

  /** @param {string} notice */
  #setNotice(notice) {
    this.#part("chart-notice").textContent = notice;
    this.#section.setAttribute("aria-busy", String(!this.#series));
  }

  #update() {
    if (!this.#series || !this.#shown) return;
    const view = this.#shown;
    this.#columns = buildColumns(this.#measure, this.#series, view, now());
    const bars = this.#columns.map((column) => this.#buildBar(column, view));
    this.#chart.show(bars, this.#measure === "cost" ? formatAxisMoney : formatAxisNumber);
    this.#part("legend").replaceChildren(...this.#legend());
    this.#part("history-basis").textContent = this.#measure === "cost" ? costBasis(this.#series, view) : "";
  }

  /**
   * @param {Column} column
   * @param {ViewName} view
   * @returns {Bar}
   */
  #buildBar(column, view) {
    const name = bucketName(view, column, this.#wallClock);
    const texts = [this.#amount(column), ...breakdown(column), ...markTexts(column)];
    return {
      parts: column.parts,
      marks: column.marks,
      label: text("history.bar", { name, details: texts.filter(Boolean).join(", ") }),
      tick: bucketTick(view, column, this.#wallClock, now()),
    };
  }

  /**
   * Describe the column at an index, or all columns together.
   * @param {number | null} index
   */
  #showReadout(index) {
    const column = index === null ? null : this.#columns[index];
    if (column) {
      const name = bucketName(this.#shown ?? this.view, column, this.#wallClock);
      const details = [...breakdown(column), ...markTexts(column)];
      this.#setReadout(name, this.#amount(column) || NOTHING, details.join(" · "));
    } else {
      const { total, mean } = summarise(this.#columns);
      const unit = this.#columns[0]?.unit;
      const average = mean === null ? "" : text(`view.${this.view}Mean`, { amount: this.#format(mean, unit) });
      this.#setReadout(text(`view.${this.view}Title`), total === null ? NOTHING : this.#format(total, unit), average);
    }
  }

  /**
   * @param {string} name
   * @param {string} value
   * @param {string} detail
   */
  #setReadout(name, value, detail) {
    this.#part("readout-name").textContent = name;
    this.#part("readout-value").textContent = value;
    this.#part("readout-detail").textContent = detail;
  }

  /** @param {Column} column */
  #amount({ value, unit }) {
    return value === null ? "" : this.#format(value, unit);
  }

  /**
   * @param {number} value
   * @param {string} [unit]  Of an energy.
   */
  #format(value, unit) {
    return this.#measure === "cost" ? formatMoneyShort(value) : formatEnergy(value, unit);
  }

  #legend() {
    const parts = new Set(this.#columns.flatMap((column) => column.parts.map(([name]) => name)));
    const marks = new Set(this.#columns.flatMap(relevantMarks));
    return [
      ...(parts.size > 1 ? [...parts].map((name) => legendItem("part", name, capitalise(partText(name)))) : []),
      ...LEGEND.filter((mark) => marks.has(mark)).map((mark) => legendItem("mark", mark, capitalise(text(`mark.${mark}`)))),
    ];
  }

  /** @returns {Measure} */
  get #measure() {
    return /** @type {Measure} */ (this.#measureInput.value);
  }

  get #measureInput() {
    return this.#input('[name="measure"]:checked');
  }

  /** @param {string} selector */
  #input(selector) {
    return findAs(this.#section, selector, HTMLInputElement);
  }

  /** @param {string} name */
  #part(name) {
    return find(this.#section, `.${name}`);
  }
}

/** @param {HTMLInputElement} input */
function labelOf(input) {
  const label = input.parentElement;
  if (!label) throw new Error(`The input ${input.name} has no label`);
  return label;
}

/**
 * Return what the costs of a view include, or why there are none.
 * @param {Record<string, Series>} series  By energy.
 * @param {ViewName} view
 */
function costBasis(series, view) {
  const inclusions = costInclusions(series, view);
  if (inclusions) return text("history.costs", { basis: inclusionText(inclusions) });
  return hasNoTariff(series) ? reasonText("NO_TARIFF") : "";
}

/** @param {Column} column */
function breakdown({ parts }) {
  if (parts.length < 2) return [];
  return parts.map(([name, value]) => `${partText(name)} ${formatMoneyShort(value)}`);
}

/** @param {Column} column */
function markTexts(column) {
  return relevantMarks(column).map((mark) => text(`mark.${mark}`));
}

/** @param {Column} column */
function relevantMarks({ value, marks }) {
  return LEGEND.filter((mark) => marks.has(mark) && (value !== null || MARKS_WITHOUT_VALUE.has(mark)));
}

/** @param {string} name */
function partText(name) {
  return text(/** @type {TextKey} */ (`energy.${name}`));
}

/**
 * @param {"part" | "mark"} kind
 * @param {string} name
 * @param {string} label
 */
function legendItem(kind, name, label) {
  return element("li", {}, element("span", { class: "swatch", [`data-${kind}`]: name }), label);
}
