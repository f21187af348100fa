/** The power panel: the gauge, the current power, its level, and why there is no current power. */

import { now } from "../shared/clock.js";
import { find, findAs } from "../shared/dom.js";
import { Announcer } from "./announcer.js";
import { NOTHING, formatAge, formatMoneyShort, formatPower, formatRate } from "./format.js";
import { currentPower, freshnessAt, levelBounds } from "./frame.js";
import { Gauge } from "./gauge.js";

/** @import { WallClock } from "./format.js" */
/** @import { Freshness, Link } from "./frame.js" */
/** @import { Ambient, Frame, Tariff } from "./subscription.js" */

/** @typedef {"direction" | "number" | "unit" | "hourly" | "explanation"} TextPart */

const PENCE = 100;
const LEVELS = { LOW: "Low", MEDIUM: "Medium", HIGH: "High" };
const BASES = {
  LEARNED: "Compared with your usual use",
  BUDGET: "Compared with your budget",
  PRICE: "Based on the current price of electricity",
};
const CAUSES = {
  METER: "The meter has stopped sending.",
  GATEWAY: "The device that sends the readings has stopped sending.",
  PLATFORM: "The energy service is not accepting readings at the moment.",
  UNKNOWN: "No newer reading has arrived.",
  CONNECTION: "This screen has lost its connection.",
};

export class PowerPanel {
  /** @type {HTMLElement} */
  #section;
  /** @type {Gauge} */
  #gauge;
  /** @type {Announcer} */
  #announcer;

  /** @param {HTMLElement} section */
  constructor(section) {
    this.#section = section;
    this.#gauge = new Gauge(findAs(section, ".gauge", SVGSVGElement));
    this.#announcer = new Announcer(find(section, ".announcement"));
  }

  /** Show that no reading has arrived yet. */
  clear() {
    this.#showBlank("Waiting for a reading", "");
    this.#showLevel(null);
  }

  /**
   * Show what a frame says about the current power.
   * @param {Frame} frame
   * @param {WallClock} wallClock
   * @param {Link} link
   */
  show(frame, wallClock, link) {
    const time = now();
    const current = currentPower(frame, time, link);
    const freshness = freshnessAt(frame, time, link);
    if (current) this.#showPower(frame, current.net, time - current.at, freshness);
    else this.#showNoPower(freshness, time, wallClock);
    const isPriceKnown = link.connected && frame.ambient?.basis === "PRICE";
    this.#showLevel(current || isPriceKnown ? frame.ambient : null);
  }

  /**
   * @param {Frame} frame
   * @param {number} net  Watts; negative for exported power.
   * @param {number} age  Milliseconds.
   * @param {Freshness} freshness
   */
  #showPower(frame, net, age, { state, cause }) {
    const { number, unit } = formatPower(net);
    const exporting = net < 0;
    const direction = exporting ? "Exporting" : "Importing";
    this.#section.dataset.flow = exporting ? "exporting" : "importing";
    const explanation = state === "LIVE" ? comparisonText(frame.ambient) : delayText(age, cause);
    this.#setTexts({ direction, number, unit: ` ${unit}`, hourly: hourlyCost(frame.tariff, net), explanation });
    this.#gauge.show(net, Boolean(frame.today.exported), levelBounds(frame));
    const level = frame.ambient ? `, ${LEVELS[frame.ambient.level].toLowerCase()}` : "";
    this.#announcer.announce(`${direction}${level}`, `${direction}: ${number} ${unit}${level}`);
  }

  /**
   * @param {Freshness} freshness
   * @param {number} time
   * @param {WallClock} wallClock
   */
  #showNoPower(freshness, time, wallClock) {
    const { state, asOf, cause } = freshness;
    const reason = reasonText(freshness);
    // If the readings are fresh but there is no power, the newest reading is not of power: its time would mislead.
    const newest = asOf !== null && (state !== "LIVE" || cause === "CONNECTION") ? asOf : null;
    const lastReading =
      newest === null ? "" : `Last reading ${wallClock.format("seconds", newest)}, ${formatAge(time - newest)} ago. `;
    this.#showBlank("No live power", lastReading + reason);
    this.#announcer.announce(reason, `No live power. ${reason}`);
  }

  /**
   * @param {string} direction
   * @param {string} explanation
   */
  #showBlank(direction, explanation) {
    this.#section.dataset.flow = "unknown";
    this.#setTexts({ direction, number: NOTHING, unit: "", hourly: "", explanation });
    this.#gauge.blank();
  }

  /** @param {Ambient | null} ambient */
  #showLevel(ambient) {
    this.#section.dataset.level = ambient?.level ?? "none";
    find(this.#section, ".level").hidden = !ambient;
    if (ambient) find(this.#section, ".level-word").textContent = LEVELS[ambient.level];
  }

  /** @param {Record<TextPart, string>} texts */
  #setTexts(texts) {
    for (const [name, text] of Object.entries(texts)) {
      const part = find(this.#section, `.${name}`);
      // Setting the same text again would cause work for screen readers and for the browser's layout.
      if (part.textContent !== text) part.textContent = text;
    }
  }
}

/** @param {Freshness} freshness */
function reasonText({ state, asOf, cause }) {
  if (asOf === null) return "There has been no reading yet.";
  if (cause === "CONNECTION") return CAUSES[cause];
  return state === "LIVE" ? "The meter of this home does not send its power." : CAUSES[cause ?? "UNKNOWN"];
}

/**
 * Return what a power costs in an hour at the current rate. Empty for exported power and without a rate.
 * @param {Pick<Tariff, "rate"> | null} tariff
 * @param {number} watts
 * @returns {string}
 */
export function hourlyCost(tariff, watts) {
  if (!tariff?.rate || watts < 0) return "";
  return `${formatMoneyShort(((watts / 1000) * Number(tariff.rate)) / PENCE)} an hour`;
}

/**
 * Return what the level is based on and where it changes. Empty without a level.
 * @param {Ambient | null} ambient
 * @returns {string}
 */
export function comparisonText(ambient) {
  if (!ambient) return "";
  const [low, high] = [ambient.lowBelow, ambient.highFrom].map((value) => formatBound(value, ambient.unit));
  return `${BASES[ambient.basis]}: low under ${low}, high from ${high}`;
}

/**
 * Return how old the reading is, and why there is no newer one if that is known.
 * @param {number} age  Milliseconds.
 * @param {Freshness["cause"]} cause
 * @returns {string}
 */
export function delayText(age, cause) {
  const reason = cause && cause !== "UNKNOWN" ? ` ${CAUSES[cause]}` : "";
  return `This reading is ${formatAge(age)} old.${reason}`;
}

/**
 * @param {number} value
 * @param {string} unit
 */
function formatBound(value, unit) {
  if (unit !== "W") return formatRate(value);
  const power = formatPower(value);
  return `${power.number} ${power.unit}`;
}
