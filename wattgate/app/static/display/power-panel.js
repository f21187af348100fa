/** The power now: the dial, the number, the ambient level, and whether they can be believed. */

import { Announcer } from "./announcer.js";
import { now } from "../shared/clock.js";
import { Gauge } from "./gauge.js";
import { NOTHING, formatAge, formatMoneyShort, formatPower, formatRate } from "./format.js";
import { levelBounds, freshnessAt, currentPower } from "./frame.js";

const PENCE = 100;
const LEVELS = { LOW: "Low", MEDIUM: "Medium", HIGH: "High" };
const BASES = {
  LEARNED: "Compared with your usual use",
  BUDGET: "Compared with your budget",
  PRICE: "By the price of electricity now",
};
const CAUSES = {
  METER: "The meter has stopped sending.",
  GATEWAY: "The device that sends the readings has gone quiet.",
  PLATFORM: "The energy service takes no readings in at the moment.",
  UNKNOWN: "Nothing newer has come in.",
  CONNECTION: "This screen has lost its connection.",
};

export class PowerPanel {
  #section;
  #gauge;
  #announcer;
  #parts;

  constructor(section) {
    const part = (name) => section.querySelector(`.${name}`);
    this.#section = section;
    this.#gauge = new Gauge(part("gauge"));
    this.#announcer = new Announcer(part("announcement"));
    this.#parts = Object.fromEntries(
      ["direction", "number", "unit", "hourly", "level", "level-word", "explanation"].map((name) => [name, part(name)]),
    );
  }

  clear() {
    this.#showBlank("Waiting for a reading", "");
    this.#showLevel(null);
  }

  /** Show a frame as it is worth at this moment; `connected` is whether the gateway can be heard. */
  show(frame, wallClock, connected) {
    const time = now();
    const current = currentPower(frame, time);
    const fresh = freshnessAt(frame, time, connected);
    if (current) this.#showPower(frame, current, time - current.at, fresh);
    else this.#showNoPower(fresh, time, wallClock);
    this.#showLevel(current || frame.ambient?.basis === "PRICE" ? frame.ambient : null);
  }

  #showPower(frame, { net }, elapsed, { state, cause }) {
    const { number, unit } = formatPower(net);
    const exporting = net < 0;
    const direction = exporting ? "Exporting" : "Importing";
    this.#section.dataset.flow = exporting ? "exporting" : "importing";
    this.#write({ direction, number, unit: ` ${unit}`, hourly: hourlyCost(frame.tariff, net) });
    this.#gauge.show(net, Boolean(frame.today.exported), levelBounds(frame));
    this.#parts.explanation.textContent = state === "LIVE" ? comparisonText(frame.ambient) : delayText(elapsed, cause);
    const level = frame.ambient ? `, ${LEVELS[frame.ambient.level].toLowerCase()}` : "";
    this.#announcer.announce(`${direction}${level}`, `${direction}: ${number} ${unit}${level}`);
  }

  #showNoPower(fresh, time, wallClock) {
    const reason = reasonText(fresh);
    // Where readings are fresh without any power, the newest one is not of power.
    const showTime = fresh.asOf && fresh.state !== "LIVE";
    const lastReading = showTime ? `Last reading ${wallClock.format("seconds", fresh.asOf)}, ${formatAge(time - fresh.asOf)} ago. ` : "";
    this.#showBlank("No live power", lastReading + reason);
    this.#announcer.announce(reason, `No live power. ${reason}`);
  }

  #showBlank(direction, explanation) {
    this.#section.dataset.flow = "unknown";
    this.#write({ direction, number: NOTHING, unit: "", hourly: "", explanation });
    this.#gauge.blank();
  }

  #showLevel(ambient) {
    this.#section.dataset.level = ambient?.level ?? "none";
    this.#parts.level.hidden = !ambient;
    if (ambient) this.#parts["level-word"].textContent = LEVELS[ambient.level];
  }

  #write(texts) {
    for (const [name, text] of Object.entries(texts)) {
      // The same text again would make screen readers and the browser's layout work for nothing.
      if (this.#parts[name].textContent !== text) this.#parts[name].textContent = text;
    }
  }
}

function reasonText({ state, asOf, cause }) {
  if (!asOf) return "There has been no reading yet.";
  return state === "LIVE" ? "The meter of this home does not send its power." : CAUSES[cause ?? "UNKNOWN"];
}

function hourlyCost(tariff, watts) {
  if (!tariff?.rate || watts < 0) return "";
  return `${formatMoneyShort(((watts / 1000) * Number(tariff.rate)) / PENCE)} an hour`;
}

function comparisonText(ambient) {
  if (!ambient) return "";
  const [low, high] = [ambient.lowBelow, ambient.highFrom].map((value) => formatLevel(value, ambient.unit));
  return `${BASES[ambient.basis]}: low under ${low}, high from ${high}`;
}

function delayText(elapsed, cause) {
  const reason = cause && cause !== "UNKNOWN" ? ` ${CAUSES[cause]}` : "";
  return `This reading is ${formatAge(elapsed)} old.${reason}`;
}

function formatLevel(value, unit) {
  if (unit !== "W") return formatRate(value);
  const written = formatPower(value);
  return `${written.number} ${written.unit}`;
}
