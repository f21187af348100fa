/**
 * The power panel: the gauge, the current power, its level, and why there is no current power. A home without live power
 * has the last half hour there, and the day against its usual course.
 */

import { now } from "../shared/clock.js";
import { find, findAs, setText } from "../shared/dom.js";
import { Announcer } from "./announcer.js";
import { cheapShare, dayCourse, hasLivePower } from "./day-course.js";
import { NOTHING, formatAge, formatEnergy, formatMoneyShort, formatPower, formatRate, formatShare } from "./format.js";
import { currentPower, freshnessAt, levelBounds } from "./frame.js";
import { Gauge } from "./gauge.js";
import { capitalise, text } from "./texts.js";

/** @import { DayCourse, RecordedDays } from "./day-course.js" */
/** @import { WallClock } from "./format.js" */
/** @import { Freshness, Link } from "./frame.js" */
/** @import { Ambient, Frame, Tariff } from "./subscription.js" */

/** The space before the unit of an amount. */
const UNIT_SPACE = /\s(?=\D+$)/;
/** The difference from the usual energy up to which a day is as usual. */
const USUAL_SHARE = 0.05;

/** @typedef {"direction" | "number" | "unit" | "hourly" | "explanation"} TextPart */

export class PowerPanel {
  /** @type {HTMLElement} */
  #section;
  /** @type {Gauge} */
  #gauge;
  /** @type {Announcer} */
  #announcer;
  /** @type {RecordedDays | null} */
  #recorded = null;

  /** @param {HTMLElement} section */
  constructor(section) {
    this.#section = section;
    this.#gauge = new Gauge(findAs(section, ".gauge", SVGSVGElement));
    this.#announcer = new Announcer(find(section, ".announcement"));
  }

  /** Show that no reading has arrived yet. */
  clear() {
    this.#recorded = null;
    this.#setTitle("power.title");
    this.#showBlank(text("power.waiting"), "");
    this.#showLevel(null);
  }

  /**
   * Keep the recorded half hours that a home without live power shows.
   * @param {RecordedDays | null} days  Null if they could not be read: then the ones before stay.
   */
  setRecordedDays(days) {
    this.#recorded = days ?? this.#recorded;
  }

  /**
   * Show what a frame says about the current power.
   * @param {Frame} frame
   * @param {WallClock} wallClock
   * @param {Link} link
   */
  show(frame, wallClock, link) {
    const time = now();
    const course = this.#recorded && !hasLivePower(frame) ? dayCourse(this.#recorded, time) : null;
    if (this.#recorded && course) {
      this.#showCourse(course, cheapShare(this.#recorded), wallClock, time);
      return;
    }
    this.#setTitle("power.title");
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
   * Show the last half hour, and the day against its usual course.
   * @param {DayCourse} course
   * @param {number | null} share  Of the cheap hours.
   * @param {WallClock} wallClock
   * @param {number} time
   */
  #showCourse(course, share, wallClock, time) {
    const { last, soFar, usual, usualDay } = course;
    const [number, unit] = formatEnergy(last.value).split(UNIT_SPACE);
    const start = wallClock.moment(last.start, time);
    const hourly = text("course.halfHour", { start, end: wallClock.format("minutes", last.end) });
    const level = usual === null ? null : courseLevel(soFar, usual);
    this.#setTitle("course.title");
    this.#section.dataset.flow = "recorded";
    this.#section.dataset.level = level ?? "none";
    find(this.#section, ".level").hidden = level === null;
    if (usual !== null) setText(find(this.#section, ".level-word"), capitalise(differenceText(soFar, usual)));
    const sentences = [usualText(course, wallClock, time), share === null ? "" : text("course.cheap", { share: formatShare(share) })];
    const explanation = sentences.filter(Boolean).join(" ");
    this.#setTexts({ direction: text("course.lastHalfHour"), number, unit: unit ? ` ${unit}` : "", hourly, explanation });
    if (usualDay === null && soFar === 0) this.#gauge.blank();
    else this.#gauge.showDay(soFar, usual, usualDay ?? soFar);
    this.#announcer.announce(hourly, text("course.announced", { energy: formatEnergy(last.value), halfHour: hourly }));
  }

  /** @param {"power.title" | "course.title"} key */
  #setTitle(key) {
    setText(find(this.#section, "h2"), text(key));
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
 * Return the level of a day: medium if its energy is about the usual one.
 * @param {number} soFar
 * @param {number} usual
 * @returns {"LOW" | "MEDIUM" | "HIGH"}
 */
function courseLevel(soFar, usual) {
  if (Math.abs(soFar - usual) <= USUAL_SHARE * usual) return "MEDIUM";
  return soFar < usual ? "LOW" : "HIGH";
}

/**
 * Return how much a day differs from the usual one.
 * @param {number} soFar
 * @param {number} usual
 * @returns {string}
 */
export function differenceText(soFar, usual) {
  const level = courseLevel(soFar, usual);
  if (level === "MEDIUM") return text("course.asUsual");
  const share = formatShare(Math.abs(soFar - usual) / usual);
  return text(level === "LOW" ? "course.less" : "course.more", { share });
}

/**
 * Return the usual energy at this time as text, or why it is unknown.
 * @param {DayCourse} course
 * @param {WallClock} wallClock
 * @param {number} time
 */
function usualText({ hasToday, upTo, usual }, wallClock, time) {
  if (usual !== null) return text("course.usual", { time: wallClock.endMoment(upTo, time), energy: formatEnergy(usual) });
  return text(hasToday ? "course.noUsual" : "course.notToday");
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
