/** The last 24 hours and the last seven days as bars, in kWh or in pounds. */

import { BarChart } from "./bars.js";
import { now } from "./clock.js";
import { axisMoney, axisNumber, energy, money } from "./format.js";

const MEASURES = {
  energy: { text: energy, axisLabel: axisNumber },
  cost: { text: money, axisLabel: axisMoney },
};

export class HistoryPanel {
  #section;
  #day;
  #week;
  #overview = null;
  #wallClock = null;

  constructor(section) {
    this.#section = section;
    this.#day = new BarChart(section.querySelector(".day"));
    this.#week = new BarChart(section.querySelector(".week"));
    section.addEventListener("change", () => this.#update());
    this.#update();
  }

  clear() {
    this.#overview = null;
    this.#day.clear();
    this.#week.clear();
  }

  show(overview, wallClock) {
    this.#overview = overview;
    this.#wallClock = wallClock;
    this.#section.querySelector(".measure").hidden = !overview.hasCost;
    if (!overview.hasCost) this.#section.querySelector('[name="measure"][value="energy"]').checked = true;
    this.#update();
  }

  #update() {
    const chosen = (name) => this.#section.querySelector(`[name="${name}"]:checked`).value;
    this.#section.dataset.range = chosen("range");
    if (!this.#overview) return;
    const measure = chosen("measure");
    const { day, week } = this.#overview;
    this.#fill(this.#day, measure, this.#note(measure, false), day[measure], (bucket) => this.#hour(bucket));
    this.#fill(this.#week, measure, this.#note(measure, true), week[measure], (bucket) => this.#date(bucket));
  }

  #fill(chart, measure, note, series, place) {
    const { text, axisLabel } = MEASURES[measure];
    const time = now();
    const bars = series.map((bucket) => ({ value: bucket.value, ...place(bucket), ...told(bucket, time, text) }));
    chart.show({ note, axisLabel, bars });
  }

  #note(measure, wholeDays) {
    if (measure === "energy") return "Electricity in kWh";
    const included = wholeDays && this.#overview.standingChargeIncluded;
    return `Cost in £, ${included ? "with" : "without"} standing charge`;
  }

  #hour({ start, end }) {
    const [from, to] = [start, end].map((instant) => this.#wallClock.minutes(instant));
    const hour = Number.parseInt(from, 10);
    const tick = hour % 3 === 0 ? { label: from, major: hour % 6 === 0 } : null;
    return { name: `${from} to ${to}`, tick };
  }

  #date({ start, end }) {
    const label = now() < end ? "Today" : this.#wallClock.weekday(start);
    return { name: this.#wallClock.date(start), tick: { label, major: true } };
  }
}

function told({ end, value }, time, write) {
  if (time < end) {
    return value === null
      ? { state: "waiting", text: "nothing yet" }
      : { state: "partial", text: `${write(value)} so far` };
  }
  return value === null ? { state: "missing", text: "no reading" } : { state: "whole", text: write(value) };
}
