/** The history panel: hours, days, weeks or months as bars, in pounds or in units of energy. */

import { now } from "../shared/clock.js";
import { element, find, findAllAs, findAs } from "../shared/dom.js";
import { BarChart } from "./bar-chart.js";
import { bucketName, bucketTick } from "./bucket-labels.js";
import { compareColumns, matchEarlier } from "./comparison.js";
import { DateNav } from "./date-nav.js";
import { hasEarlier, historyWindow } from "./date-window.js";
import { comparisonText, rangeTitle } from "./date-words.js";
import { formatAxisMoney, formatAxisNumber, formatEnergy, formatMoneyShort, NOTHING, WallClock } from "./format.js";
import { inclusionText, reasonText } from "./cost-basis.js";
import { VIEWS, buildColumns, hasNoTariff, includesStandingCharge, isCostKnown, summarise } from "./history.js";
import { onNotationChange } from "./notation.js";
import { capitalise, text } from "./texts.js";

/** @import { HistoryRange, HistorySeries, ResourceIds, Series } from "../shared/gateway.js" */
/** @import { Bar } from "./bar-chart.js" */
/** @import { Column, Mark, Measure, ViewName } from "./history.js" */
/** @import { TextKey } from "./texts.js" */

/** @type {Mark[]} */
const LEGEND = ["running", "late", "estimated", "gaps", "missing", "unpriced", "noTariff", "noPrice"];
/** The marks that are shown for a column without a value. The others say nothing about it. */
const MARKS_WITHOUT_VALUE = new Set(["late", "missing", "running", "noTariff", "noPrice"]);

/**
 * The selection that the panel shows or requests: a view, and how many steps before the newest range.
 * @typedef {{ view: ViewName, steps: number }} Selection
 */

export class HistoryPanel {
  /** @type {HTMLElement} */
  #section;
  /** @type {BarChart} */
  #chart;
  /** @type {DateNav} */
  #nav;
  /** @type {() => void} */
  #requestHistory;
  /** @type {Record<string, HistorySeries> | null} */
  #series = null;
  /** @type {Selection | null} */
  #shown = null;
  #count = 0;
  /** @type {Column[]} */
  #columns = [];
  /** @type {(Column | null)[]} Those of the week before. */
  #earlier = [];
  #wallClock = new WallClock();
  /** Whether an energy is shown in place of the cost, which is not known. */
  #replacesCost = false;
  #timeZone = "UTC";

  /**
   * @param {HTMLElement} section
   * @param {() => void} requestHistory
   *   Called when the user selects another view or range. Read `wanted`, and pass its data to `show`.
   */
  constructor(section, requestHistory) {
    this.#section = section;
    this.#requestHistory = requestHistory;
    this.#chart = new BarChart(section, (index) => this.#showReadout(index));
    this.#nav = new DateNav(section, () => this.#changeRange());
    section.addEventListener("change", ({ target }) => {
      if (target instanceof HTMLInputElement && target.name === "view") this.#changeView();
      else this.#update();
    });
    onNotationChange(() => this.#update());
  }

  /**
   * The selected view and range.
   * @returns {Selection & { range: HistoryRange, count: number }}
   */
  get wanted() {
    const [view, { steps }, zone] = [this.#view, this.#nav, this.#timeZone];
    const { count, ...range } = historyWindow(view, steps, now(), zone);
    return { view, steps, count, range: { ...range, zone, period: VIEWS[view].period } };
  }

  /** @returns {ViewName} */
  get #view() {
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
   * @param {string} timeZone  Of the home's days.
   */
  setHome(energies, wallClock, timeZone) {
    this.#wallClock = wallClock;
    this.#timeZone = timeZone;
    this.#offerMeasures(energies);
    this.clear();
  }

  /**
   * Offer the measures of these energies, and their cost if it is known. Otherwise an energy replaces it.
   * @param {Record<string, unknown>} energies  By name.
   * @param {boolean} hasCost
   */
  #offerMeasures(energies, hasCost = true) {
    const inputs = findAllAs(this.#section, '[name="measure"]', HTMLInputElement);
    for (const input of inputs) labelOf(input).hidden = input.value === "cost" ? !hasCost : !(input.value in energies);
    const isOffered = !labelOf(this.#measureInput).hidden;
    if (isOffered && !(hasCost && this.#replacesCost)) return;
    const first = inputs.find((input) => !labelOf(input).hidden);
    if (first) first.checked = true;
    this.#replacesCost = !hasCost;
  }

  /** Remove all bars, and go back to the newest range. */
  clear() {
    this.#nav.reset();
    this.#nav.update(this.#view, false);
    this.#removeBars();
  }

  #removeBars() {
    this.#series = this.#shown = null;
    this.#columns = this.#earlier = [];
    this.#chart.clear();
    this.#clearTexts();
    this.#setNotice("");
  }

  #clearTexts() {
    this.#part("legend").replaceChildren();
    this.#part("history-basis").textContent = "";
    this.#part("history-comparison").textContent = "";
  }

  /**
   * Show the data of a selection. It is ignored if something else is selected by now.
   * @param {Selection & { count: number }} selection
   * @param {Record<string, HistorySeries>} series  By energy, without those that are withheld.
   */
  show({ view, steps, count }, series) {
    if (!this.#isWanted({ view, steps })) return;
    this.#offerMeasures(series, !hasNoTariff(series));
    this.#series = series;
    this.#shown = { view, steps };
    this.#count = count;
    this.#setNotice("");
    this.#section.setAttribute("aria-busy", "false");
    this.#update();
  }

  /** Report that the selection could not be read. Bars of an older reading of it stay. */
  fail() {
    if (this.#shown && this.#isWanted(this.#shown)) return;
    this.#removeBars();
    this.#setNotice(text("history.failed"));
  }

  /** Show the newest range again, if an earlier one is shown. */
  returnToNewest() {
    if (this.#nav.steps === 0) return;
    this.#nav.reset();
    this.#changeRange();
  }

  /** @param {Selection} selection */
  #isWanted({ view, steps }) {
    return view === this.#view && steps === this.#nav.steps;
  }

  #changeView() {
    this.clear();
    this.#requestHistory();
  }

  /** Keep the bars until those of the other range arrive, so that the focus stays. */
  #changeRange() {
    this.#section.setAttribute("aria-busy", "true");
    this.#requestHistory();
  }

  /** @param {string} notice @param {boolean} [isEmpty]  Whether the home has no readings, so that a file may be added. */
  #setNotice(notice, isEmpty = false) {
    this.#part("chart-notice").textContent = notice;
    this.#part("add-data").hidden = !isEmpty;
    this.#section.setAttribute("aria-busy", String(!this.#series));
  }

  #update() {
    if (!this.#series || !this.#shown) return;
    const { view, steps } = this.#shown;
    const time = now();
    this.#columns = buildColumns(this.#measure, this.#series, view, time, this.#count);
    const start = firstTime(this.#series);
    this.#nav.update(view, hasEarlier(view, steps, start, time, this.#timeZone));
    if (start === null) {
      this.#showNoReadings();
      return;
    }
    this.#earlier = matchEarlier(this.#columns, this.#columnsBefore(this.#series, view, time), this.#timeZone);
    const bars = this.#columns.map((column, index) => this.#buildBar(column, this.#earlier[index], view));
    this.#chart.show(bars, this.#measure === "cost" ? formatAxisMoney : formatAxisNumber);
    this.#part("legend").replaceChildren(...this.#legend());
    this.#part("history-basis").textContent = this.#saysBasis ? costBasis(this.#series, view) : "";
    const comparison = compareColumns(this.#columns, this.#earlier);
    this.#part("history-comparison").textContent = comparisonText(comparison, view, steps);
  }

  /** Say that the home has no readings yet. Columns would have no value to show. */
  #showNoReadings() {
    this.#chart.clear();
    this.#showReadout(null);
    this.#clearTexts();
    this.#setNotice(text("history.noReadings"), true);
  }

  /**
   * Return the columns of the range that is compared with. Empty unless all shown energies have one.
   * @param {Record<string, HistorySeries>} series
   * @param {ViewName} view
   * @param {number} time
   */
  #columnsBefore(series, view, time) {
    const before = Object.entries(series).flatMap(([name, one]) => (one.before ? [[name, one.before]] : []));
    if (before.length < Object.keys(series).length) return [];
    return buildColumns(this.#measure, Object.fromEntries(before), view, time, Infinity);
  }

  /**
   * @param {Column} column
   * @param {Column | null} earlier
   * @param {ViewName} view
   * @returns {Bar}
   */
  #buildBar(column, earlier, view) {
    const name = bucketName(view, column, this.#wallClock);
    const texts = [this.#amount(column), ...breakdown(column), ...markTexts(column), this.#earlierText(earlier)];
    return {
      parts: column.parts,
      marks: column.marks,
      before: earlier?.value ?? null,
      label: text("history.bar", { name, details: texts.filter(Boolean).join(", ") }),
      tick: bucketTick(view, column, this.#wallClock, now()),
    };
  }

  /** @param {Column | null} earlier */
  #earlierText(earlier) {
    if (!earlier || earlier.value === null) return "";
    return text("dates.weekBefore", { amount: this.#format(earlier.value, earlier.unit) });
  }

  /**
   * Describe the column at an index, or all columns together.
   * @param {number | null} index
   */
  #showReadout(index) {
    const { view, steps } = this.#shown ?? { view: this.#view, steps: 0 };
    const column = index === null ? null : this.#columns[index];
    if (column && index !== null) {
      const details = [...breakdown(column), ...markTexts(column), this.#earlierText(this.#earlier[index])];
      const name = bucketName(view, column, this.#wallClock);
      this.#setReadout(name, this.#amount(column) || NOTHING, details.filter(Boolean).join(" · "));
    } else {
      const { total, mean } = summarise(this.#columns);
      const unit = this.#columns[0]?.unit;
      const average = mean === null ? "" : text(`view.${view}Mean`, { amount: this.#format(mean, unit) });
      const title = rangeTitle(view, steps, this.#columns, this.#wallClock, now());
      this.#setReadout(title, total === null ? NOTHING : this.#format(total, unit), average);
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
      ...(this.#earlier.some(hasValue) ? [legendItem("mark", "before", text("dates.legend"))] : []),
    ];
  }

  /** @returns {Measure} */
  get #measure() {
    return /** @type {Measure} */ (this.#measureInput.value);
  }

  get #saysBasis() {
    return this.#measure === "cost" || this.#replacesCost;
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
  if (isCostKnown(series)) return text("history.costs", { basis: inclusionText(includesStandingCharge(view)) });
  return hasNoTariff(series) ? reasonText("NO_TARIFF") : "";
}

/** @param {Column | null} column */
function hasValue(column) {
  return column !== null && column.value !== null;
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

/**
 * Return the time of the first reading of a home. Null if there is none.
 * @param {Record<string, HistorySeries>} series  By energy.
 */
function firstTime(series) {
  const times = Object.values(series).flatMap(({ firstTime: time }) => (time ? [Date.parse(time)] : []));
  return times.length ? Math.min(...times) : null;
}
