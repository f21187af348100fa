/** The panel of subscriptions: the state of the link, a chart of a number over time, and the payloads. */

import { element } from "../../shared/dom.js";
import { describeSeries, drawLine } from "./line-chart.js";
import { LiveStream, STATE_TEXTS } from "./live-stream.js";

/** @import { Workspace } from "../workspace.js" */
/** @import { Entry, Series } from "./stream-log.js" */

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [320, 90];
/** Payloads that the list shows; the log keeps more. */
const MAX_SHOWN = 50;

/** The stream of the page: it goes on while the panel is closed. */
export const stream = new LiveStream();

/** @type {import("../workspace.js").Panel} */
export const livePanel = {
  id: "live",
  title: "Live",
  icon: "M3 12h4l3-8 4 16 3-8h4",
  mount: (root, workspace) => {
    const view = new LiveView(root, workspace);
    return { shown: () => view.render() };
  },
};

class LiveView {
  #workspace;
  #isPaused = false;
  /** The number of payloads at the pause. */
  #pausedAt = 0;
  #chosen = "";
  #requested = 0;
  #state = element("p", { class: "stream-state", role: "status", "data-testid": "stream-state" });
  #reason = element("p", { class: "panel-note", "data-testid": "stream-reason" });
  #facts = element("p", { class: "panel-note", "data-testid": "stream-facts" });
  #pause = this.#button("pause", "Pause", () => this.#togglePause());
  #run = this.#button("stream-run", "Start", () => this.#toggleRun());
  #resume = this.#button("resume", "Resume", () => stream.resume());
  #clear = this.#button("clear", "Clear", () => this.#clearLog());
  #choice = element("select", { "aria-label": "Number in the chart", "data-testid": "series" });
  #chart = element("figure", { class: "stream-chart", hidden: true });
  #list = element("ol", { class: "payloads", "aria-label": "Payloads, the newest first", "data-testid": "payloads" });

  /**
   * @param {HTMLElement} root
   * @param {Workspace} workspace
   */
  constructor(root, workspace) {
    this.#workspace = workspace;
    root.classList.add("live-panel");
    root.append(
      this.#state, this.#reason,
      element("div", { class: "stream-buttons" }, this.#run, this.#pause, this.#resume, this.#clear),
      this.#facts, this.#chart, this.#list,
    );
    this.#choice.addEventListener("change", () => {
      this.#chosen = this.#choice.value;
      this.#drawChart();
    });
    stream.onChange = () => this.#schedule();
    for (const event of ["operation", "run", "response", "refused", "stopped", "idle"]) workspace.on(event, () => this.#schedule());
    this.render();
  }

  /**
   * @param {string} id
   * @param {string} label
   * @param {() => void} onClick
   */
  #button(id, label, onClick) {
    const button = element("button", { type: "button", class: "quiet-button", "data-testid": id }, label);
    button.addEventListener("click", onClick);
    return button;
  }

  /** Render once for all payloads that arrive before the next frame. */
  #schedule() {
    if (this.#requested) return;
    this.#requested = requestAnimationFrame(() => {
      this.#requested = 0;
      this.render();
    });
  }

  render() {
    const { state, reason, isRunning, log, canResume } = stream;
    const waiting = log.count - this.#pausedAt;
    this.#state.dataset.state = state;
    this.#state.textContent = `${STATE_TEXTS[state]}${this.#isPaused && isRunning ? `, paused: ${waiting} new` : ""}`;
    this.#reason.textContent = reason;
    this.#run.textContent = isRunning ? "Stop" : "Start";
    this.#run.disabled = !isRunning && this.#workspace.operation?.kind !== "subscription";
    this.#pause.hidden = !isRunning;
    this.#pause.textContent = this.#isPaused ? "Continue" : "Pause";
    this.#resume.hidden = isRunning || !canResume;
    // Operations run one at a time: to resume would stop the one that is under way.
    this.#resume.disabled = this.#workspace.isRunning;
    this.#clear.hidden = log.count === 0;
    this.#facts.textContent = this.#describe();
    if (this.#isPaused && isRunning) return;
    this.#isPaused = false;
    this.#drawChart();
    this.#drawList();
  }

  #describe() {
    const { log, recovered, position, isRunning, canResume } = stream;
    const { kind } = this.#workspace.operation ?? {};
    if (!log.count) return !isRunning && kind !== "subscription" ? "Open a subscription, for example from the guides or the explorer." : "No payload yet.";
    const parts = [`${log.count} payload${log.count === 1 ? "" : "s"}.`];
    if (recovered === true) parts.push("Nothing was lost: the gateway has sent the missed events.");
    if (recovered === false) parts.push("Events may be lost: the gateway has sent the present state again.");
    if (canResume) parts.push("It can resume from its last position.");
    else if (position) parts.push("Add the argument “since: null”. Then the subscription can resume after a lost link.");
    return parts.join(" ");
  }

  #togglePause() {
    this.#isPaused = !this.#isPaused;
    this.#pausedAt = stream.log.count;
    this.render();
  }

  #toggleRun() {
    if (stream.isRunning) this.#workspace.stop();
    else if (this.#workspace.operation?.kind === "subscription") void this.#workspace.run();
  }

  #clearLog() {
    stream.log.clear();
    this.#pausedAt = 0;
    this.render();
  }

  #drawChart() {
    const { series } = stream.log;
    this.#chart.hidden = series.length === 0;
    if (!series.length) return;
    const labels = series.map(nameOf);
    if ([...this.#choice.options].map(({ value }) => value).join("\n") !== labels.join("\n")) {
      this.#choice.replaceChildren(...labels.map((label) => element("option", { value: label }, label)));
    }
    // Until the user chooses, the chart shows the number that arrives most often.
    const busiest = series.reduce((one, other) => (other.points.length >= one.points.length ? other : one));
    this.#choice.value = labels.includes(this.#chosen) ? this.#chosen : nameOf(busiest);
    this.#choice.hidden = series.length === 1;
    const chosen = series.find((one) => nameOf(one) === this.#choice.value) ?? series[0];
    const text = describeSeries(chosen);
    this.#chart.replaceChildren(this.#choice, chartOf(chosen, text), element("figcaption", { "data-testid": "chart-text" }, text));
  }

  #drawList() {
    const shown = stream.log.entries.slice(-MAX_SHOWN).reverse();
    const present = new Map([...this.#list.children].map((item) => [item instanceof HTMLElement ? item.dataset.number : "", item]));
    // An open payload stays open while others arrive.
    this.#list.replaceChildren(...shown.map((entry) => present.get(String(entry.number)) ?? itemOf(entry)));
  }
}

/** @param {Series} series */
function nameOf({ label, unit }) {
  return unit ? `${label} (${unit})` : label;
}

/** @param {Entry} entry */
function itemOf({ number, at, payload }) {
  const time = new Date(at).toLocaleTimeString("en-GB");
  const summary = element("summary", {}, element("time", {}, time), " ", element("code", {}, JSON.stringify(payload.data ?? payload.errors ?? null).slice(0, 160)));
  if (payload.errors) summary.classList.add("has-errors");
  const body = element("pre", { tabindex: "0", "aria-label": `Payload ${number}` }, JSON.stringify(payload, null, 2));
  return element("li", { "data-number": String(number) }, element("details", {}, summary, body));
}

/**
 * @param {Series} series
 * @param {string} text
 */
function chartOf({ points }, text) {
  const { line, low, high, last } = drawLine(points, WIDTH, HEIGHT);
  const chart = svg("svg", { viewBox: `-4 -12 ${WIDTH + 8} ${HEIGHT + 28}`, role: "img", "aria-label": text });
  const format = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 5 });
  const label = (/** @type {number} */ value, /** @type {number} */ y) => {
    const node = svg("text", { x: "0", y: String(y) });
    node.textContent = format.format(value);
    return node;
  };
  chart.append(
    svg("path", { class: "frame", d: `M0 0H${WIDTH} M0 ${HEIGHT}H${WIDTH}` }),
    svg("path", { class: "line", d: line }),
    svg("circle", { cx: String(last.x), cy: String(last.y), r: "3" }),
    label(high, -3),
    label(low, HEIGHT + 13),
  );
  return chart;
}

/**
 * @param {string} name
 * @param {Record<string, string>} attributes
 */
function svg(name, attributes) {
  const created = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  return created;
}
