/** The power now: the dial, the number, the ambient level, and whether they can be believed. */

import { Announcer } from "./announcer.js";
import { now } from "../shared/clock.js";
import { Dial } from "./dial.js";
import { NOTHING, age, power, rate, smallMoney } from "./format.js";
import { bounds, freshness, powerNow } from "./frame.js";

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
  LINK: "This screen has lost its connection.",
};

export class PowerPanel {
  #section;
  #dial;
  #announcer;
  #parts;

  constructor(section) {
    const part = (name) => section.querySelector(`.${name}`);
    this.#section = section;
    this.#dial = new Dial(part("dial"));
    this.#announcer = new Announcer(part("announcement"));
    this.#parts = Object.fromEntries(
      ["direction", "number", "unit", "hourly", "level", "level-word", "explanation"].map((name) => [name, part(name)]),
    );
  }

  clear() {
    this.#showNothing("Waiting for a reading", "");
    this.#showLevel(null);
  }

  /** Show a frame as it is worth at this moment; `linked` is whether the gateway can be heard. */
  show(frame, wallClock, linked) {
    const time = now();
    const current = powerNow(frame, time);
    const fresh = freshness(frame, time, linked);
    if (current) this.#showPower(frame, current, time - current.at, fresh);
    else this.#explain(fresh, time, wallClock);
    this.#showLevel(current || frame.ambient?.basis === "PRICE" ? frame.ambient : null);
  }

  #showPower(frame, { net }, old, { state, cause }) {
    const { number, unit } = power(net);
    const exporting = net < 0;
    const direction = exporting ? "Exporting" : "Importing";
    this.#section.dataset.flow = exporting ? "exporting" : "importing";
    this.#write({ direction, number, unit: ` ${unit}`, hourly: hourly(frame.tariff, net) });
    this.#dial.show(net, Boolean(frame.today.exported), bounds(frame));
    this.#parts.explanation.textContent = state === "LIVE" ? compared(frame.ambient) : delayed(old, cause);
    const level = frame.ambient ? `, ${LEVELS[frame.ambient.level].toLowerCase()}` : "";
    this.#announcer.say(`${direction}${level}`, `${direction}: ${number} ${unit}${level}`);
  }

  #explain(fresh, time, wallClock) {
    const why = reason(fresh);
    // Where readings are fresh without any power, the newest one is not of power.
    const told = fresh.asOf && fresh.state !== "LIVE";
    const seen = told ? `Last reading ${wallClock.write("seconds", fresh.asOf)}, ${age(time - fresh.asOf)} ago. ` : "";
    this.#showNothing("No live power", seen + why);
    this.#announcer.say(why, `No live power. ${why}`);
  }

  #showNothing(direction, explanation) {
    this.#section.dataset.flow = "unknown";
    this.#write({ direction, number: NOTHING, unit: "", hourly: "", explanation });
    this.#dial.blank();
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

function reason({ state, asOf, cause }) {
  if (!asOf) return "There has been no reading yet.";
  return state === "LIVE" ? "The meter of this home does not send its power." : CAUSES[cause ?? "UNKNOWN"];
}

function hourly(tariff, watts) {
  if (!tariff?.rate || watts < 0) return "";
  return `${smallMoney(((watts / 1000) * Number(tariff.rate)) / PENCE)} an hour`;
}

function compared(ambient) {
  if (!ambient) return "";
  const [low, high] = [ambient.lowBelow, ambient.highFrom].map((value) => amount(value, ambient.unit));
  return `${BASES[ambient.basis]}: low under ${low}, high from ${high}`;
}

function delayed(old, cause) {
  const why = cause && cause !== "UNKNOWN" ? ` ${CAUSES[cause]}` : "";
  return `This reading is ${age(old)} old.${why}`;
}

function amount(value, unit) {
  if (unit !== "W") return rate(value);
  const written = power(value);
  return `${written.number} ${written.unit}`;
}
