/** The price panel: the prices of today and tomorrow as a curve, with the cheapest slot marked and in words. */

import { now } from "../shared/clock.js";
import { find, setText } from "../shared/dom.js";
import { formatRate } from "./format.js";
import { onNotationChange } from "./notation.js";
import { PriceChart } from "./price-chart.js";
import { buildCurve, cheapestSlot, priceRange, stepAt } from "./price-curve.js";
import { layOutCurve } from "./price-layout.js";
import { isReadingDue, tariffKey } from "./price-schedule.js";
import { cheapestText, rateText, spanText, stepText, tomorrowText } from "./price-words.js";
import { text } from "./texts.js";

/** @import { WallClock } from "./format.js" */
/** @import { KnownPrices, PriceCurve } from "./price-curve.js" */
/** @import { PriceReading } from "./price-schedule.js" */
/** @import { Frame } from "./subscription.js" */

const MINUTE = 60_000;

/**
 * The home of the prices. `timeZone` is that of its days.
 * @typedef {{ resourceId: string, timeZone: string, wallClock: WallClock }} PricedHome
 */

export class PricePanel {
  /** @type {HTMLElement} */
  #section;
  /** @type {PriceChart} */
  #chart;
  /** @type {() => void} */
  #requestPrices;
  /** @type {(isKnown: boolean) => void} */
  #onKnown;
  /** @type {PricedHome | null} */
  #home = null;
  /** @type {string | null} */
  #tariff = null;
  /** @type {PriceReading | null} */
  #reading = null;
  #isRequested = false;
  #drawnAt = 0;
  /** @type {number | null} */
  #selected = null;

  /**
   * @param {HTMLElement} section
   * @param {() => void} requestPrices  Called when prices must be read. Pass them to `setPrices`.
   * @param {(isKnown: boolean) => void} onKnown  Called with whether there is a curve.
   */
  constructor(section, requestPrices, onKnown) {
    this.#section = section;
    this.#requestPrices = requestPrices;
    this.#onKnown = onKnown;
    this.#chart = new PriceChart(find(section, ".price-chart"), (index) => this.#select(index));
    onNotationChange(() => this.#draw());
  }

  /**
   * Prepare for a home. Null if it has no meter of electricity.
   * @param {PricedHome | null} home
   */
  setHome(home) {
    this.#home = home;
    this.clear();
  }

  /** Remove the curve. */
  clear() {
    this.#tariff = this.#reading = null;
    this.#isRequested = false;
    this.#setHidden(true);
  }

  /**
   * Follow a frame. It is called every second: prices are requested only when they are due, and the curve is drawn
   * again when a minute has passed.
   * @param {Pick<Frame, "tariff" | "cheapest">} frame
   */
  show(frame) {
    if (!this.#home) return;
    this.#tariff = tariffKey(frame);
    if (this.#tariff === null) {
      if (this.#reading) this.clear();
      return;
    }
    if (!this.#isRequested && isReadingDue(this.#reading, this.#tariff, now(), this.#home.timeZone)) {
      this.#isRequested = true;
      this.#requestPrices();
    }
    if (Math.floor(now() / MINUTE) !== this.#drawnAt) this.#draw();
  }

  /** The resource and the range of the prices to read. Null if none are needed. */
  get wanted() {
    if (!this.#home || this.#tariff === null) return null;
    return { resourceId: this.#home.resourceId, range: priceRange(now(), this.#home.timeZone) };
  }

  /**
   * Show the prices that were read.
   * @param {KnownPrices} prices
   */
  setPrices(prices) {
    if (!this.#home || this.#tariff === null) return;
    this.#isRequested = false;
    const curve = buildCurve(prices, now(), this.#home.timeZone);
    this.#reading = { at: now(), tariff: this.#tariff, curve };
    this.#draw();
  }

  #draw() {
    this.#drawnAt = Math.floor(now() / MINUTE);
    const [home, curve, time] = [this.#home, this.#reading?.curve, now()];
    // After midnight the curve of yesterday disappears, even while the gateway cannot be reached.
    const isValid = Boolean(home && curve && time < curve.tomorrow);
    this.#setHidden(!isValid);
    if (!isValid || !home || !curve) return;
    const slot = cheapestSlot(curve, time);
    const layout = layOutCurve(curve, time, home.timeZone);
    const { steps } = curve;
    const current = stepAt(curve, time);
    this.#chart.show(
      layout,
      {
        steps: steps.map((step) => stepText(step, curve, home.wallClock)),
        hours: layout.hours.map(({ instant }) => home.wallClock.format("minutes", instant)),
        gridlines: layout.gridlines.map(({ value }) => formatRate(value)),
        tomorrow: text("prices.tomorrow"),
      },
      {
        current: steps.findIndex((step) => step === current),
        cheapest: slot && [
          steps.findIndex(({ start }) => start === slot.start),
          steps.findIndex(({ end }) => end === slot.end),
        ],
      },
    );
    this.#setText("cheapest", cheapestText(slot, curve, home.wallClock, time));
    this.#setText("price-note", tomorrowText(curve));
    this.#showReadout(curve, home.wallClock);
  }

  /** @param {number | null} index */
  #select(index) {
    this.#selected = index;
    if (this.#reading?.curve && this.#home) this.#showReadout(this.#reading.curve, this.#home.wallClock);
  }

  /**
   * Describe the selected step, or else the current one.
   * @param {PriceCurve} curve
   * @param {WallClock} wallClock
   */
  #showReadout(curve, wallClock) {
    const time = now();
    const current = stepAt(curve, time);
    const step = this.#selected === null ? current : curve.steps[this.#selected];
    this.#setText("price-readout-name", step ? spanText(step, curve, wallClock) : "");
    this.#setText("price-readout-value", rateText(step));
  }

  /** @param {boolean} hidden */
  #setHidden(hidden) {
    this.#section.hidden = hidden;
    this.#onKnown(!hidden);
  }

  /**
   * @param {string} name
   * @param {string} words
   */
  #setText(name, words) {
    setText(find(this.#section, `.${name}`), words);
  }
}
