/** The power panel: the gauge, the current power, its level, and why there is no current power. */

import { now } from "../shared/clock.js";
import { find, findAs, setText } from "../shared/dom.js";
import { Announcer } from "./announcer.js";
import { NOTHING, formatAge, formatMoneyShort, formatPower, formatRate } from "./format.js";
import { currentPower, freshnessAt, levelBounds } from "./frame.js";
import { Gauge } from "./gauge.js";
import { capitalise, text } from "./texts.js";

/** @import { WallClock } from "./format.js" */
/** @import { Freshness, Link } from "./frame.js" */
/** @import { Ambient, Frame, Tariff } from "./subscription.js" */

/** @typedef {"direction" | "number" | "unit" | "hourly" | "explanation"} TextPart */

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
    this.#showBlank(text("power.waiting"), "");
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
    const direction = text(exporting ? "power.exporting" : "power.importing");
    this.#section.dataset.flow = exporting ? "exporting" : "importing";
    const explanation = state === "LIVE" ? comparisonText(frame.ambient) : delayText(age, cause);
    this.#setTexts({ direction, number, unit: ` ${unit}`, hourly: hourlyCost(frame.tariff, net), explanation });
    this.#gauge.show(net, Boolean(frame.today.exported), levelBounds(frame));
    const level = frame.ambient ? levelText(frame.ambient) : "";
    const values = { direction, power: `${number} ${unit}`, level };
    this.#announcer.announce(direction + level, text(level ? "power.announcedWithLevel" : "power.announced", values));
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
    const values = newest === null ? null : { time: wallClock.format("seconds", newest), age: formatAge(time - newest) };
    this.#showBlank(text("power.none"), values ? text("power.lastReading", { ...values, reason }) : reason);
    this.#announcer.announce(reason, text("power.noneBecause", { reason }));
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
    if (ambient) setText(find(this.#section, ".level-word"), capitalise(levelText(ambient)));
  }

  /** @param {Record<TextPart, string>} texts */
  #setTexts(texts) {
    for (const [name, words] of Object.entries(texts)) setText(find(this.#section, `.${name}`), words);
  }
}

/**
 * Return the level in words. A level of the price says so, because it is beside the power.
 * @param {Ambient} ambient
 */
function levelText({ level, basis }) {
  const words = text(`level.${level}`);
  return basis === "PRICE" ? text("level.ofPrice", { level: words }) : words;
}

/** @param {Freshness} freshness */
function reasonText({ state, asOf, cause }) {
  if (asOf === null) return text("power.noReading");
  if (cause === "CONNECTION") return text("cause.CONNECTION");
  return text(state === "LIVE" ? "power.notSent" : `cause.${cause ?? "UNKNOWN"}`);
}

/**
 * Return what a power costs in an hour at the current rate. Empty for exported power and without a rate.
 * @param {Pick<Tariff, "rateWithVat"> | null} tariff
 * @param {number} watts
 * @returns {string}
 */
export function hourlyCost(tariff, watts) {
  if (!tariff?.rateWithVat || watts < 0) return "";
  return text("power.hourly", { amount: formatMoneyShort((watts / 1000) * Number(tariff.rateWithVat.amount)) });
}

/**
 * Return what the level is based on and where it changes. Empty without a level.
 * @param {Ambient | null} ambient
 * @returns {string}
 */
export function comparisonText(ambient) {
  if (!ambient) return "";
  const { basis, powerLevels, rateLevels } = ambient;
  if (powerLevels) {
    const [low, high] = [powerLevels.lowBelow, powerLevels.highFrom].map(({ value }) => powerText(value));
    return text(`level.${basis}`, { low, high });
  }
  if (!rateLevels) return "";
  const [low, high] = [rateLevels.lowBelow, rateLevels.highFrom].map(({ amount }) => formatRate(amount));
  return text(`level.${basis}`, { low, high });
}

/**
 * Return how old the reading is, and why there is no newer one if that is known.
 * @param {number} age  Milliseconds.
 * @param {Freshness["cause"]} cause
 * @returns {string}
 */
export function delayText(age, cause) {
  const values = { age: formatAge(age) };
  if (!cause || cause === "UNKNOWN") return text("power.old", values);
  return text("power.oldBecause", { ...values, reason: text(`cause.${cause}`) });
}

/** @param {number} watts */
function powerText(watts) {
  const { number, unit } = formatPower(watts);
  return `${number} ${unit}`;
}
