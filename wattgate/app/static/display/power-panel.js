/** The live power: the large number, the dial, and whether they can be believed. */

import { Announcer } from "./announcer.js";
import { now } from "./clock.js";
import { Dial } from "./dial.js";
import { NOTHING, age, power, smallMoney } from "./format.js";

const STALE_AFTER = 30_000;

export class PowerPanel {
  #section;
  #dial;
  #announcer;
  #number;
  #unit;
  #status;
  #rateText;
  #home = { exports: false, rate: null, wallClock: null };
  #newest = null;

  constructor(section) {
    const part = (name) => section.querySelector(`.${name}`);
    this.#section = section;
    this.#dial = new Dial(part("dial"));
    this.#announcer = new Announcer(part("announcement"));
    this.#number = part("number");
    this.#unit = part("unit");
    this.#status = part("status");
    this.#rateText = part("rate");
  }

  /** Begin with another home, of which no reading is known. */
  begin(wallClock) {
    this.#home = { exports: false, rate: null, wallClock };
    this.#newest = null;
    this.update();
  }

  /** Learn whether the home exports and what a kWh costs it in pounds (null if that is not known). */
  learn({ exports, rate }) {
    this.#home = { ...this.#home, exports, rate };
    this.update();
  }

  receive({ watts, at }) {
    if (this.#newest && at < this.#newest.at) return;
    // A meter whose clock is fast must not keep its reading fresh for longer.
    this.#newest = { watts, at: Math.min(at, now()) };
    this.update();
  }

  /** To be called every second, since a reading becomes stale when nothing happens. */
  update() {
    const old = this.#newest ? now() - this.#newest.at : Infinity;
    if (old <= STALE_AFTER) this.#showPower(this.#newest.watts);
    else this.#showNothing(old);
  }

  #showPower(watts) {
    const { exports, rate } = this.#home;
    const exporting = watts < 0;
    const { number, unit } = power(watts);
    const direction = exporting ? "Exporting" : "Importing";
    this.#section.dataset.flow = exporting ? "exporting" : "importing";
    this.#write(number, ` ${unit}`, direction);
    this.#rateText.textContent = exporting || rate === null ? "" : `${smallMoney((watts / 1000) * rate)} an hour`;
    this.#dial.show(watts, exports);
    this.#announcer.say(direction, `${direction}: ${number} ${unit}`);
  }

  #showNothing(old) {
    const time = this.#newest && this.#home.wallClock.seconds(this.#newest.at);
    const text = time ? `Last seen ${time}` : "Waiting for a reading";
    this.#section.dataset.flow = "unknown";
    this.#write(NOTHING, "", text);
    this.#rateText.textContent = time ? age(old) : "";
    this.#dial.blank();
    if (time) this.#announcer.say(text, `No live power. ${text}`);
  }

  #write(number, unit, status) {
    this.#number.textContent = number;
    this.#unit.textContent = unit;
    this.#status.textContent = status;
  }
}
