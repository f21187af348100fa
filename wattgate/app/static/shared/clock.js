/**
 * The gateway's time. The clock of a wall display may be minutes wrong, which would make the ages of readings wrong.
 */

/** The Date header has whole seconds and may be cached for one second: a smaller difference is not a clock error. */
const HEADER_TOLERANCE = 3000;
/** A larger change, in milliseconds, between the wall clock and the steady clock means sleep or a clock adjustment. */
const JUMP_THRESHOLD = 5000;

/**
 * Estimates the gateway's time from two clocks of the device: a steady one and a wall clock.
 *
 * The steady clock may stop while the device sleeps, and the wall clock may be set. Both only measure how much time has
 * passed since the gateway's time was last known.
 */
export class GatewayClock {
  /** @type {() => number} */
  #steady;
  /** @type {() => number} */
  #wall;
  /** @type {{ gateway: number, steady: number, wall: number }} */
  #anchor;
  /** @type {number} */
  #wallOffset;

  /**
   * @param {() => number} steady  Milliseconds since an arbitrary instant; never goes back.
   * @param {() => number} wall  Milliseconds since 1970, by the device.
   */
  constructor(steady = () => performance.now(), wall = () => Date.now()) {
    this.#steady = steady;
    this.#wall = wall;
    this.#anchor = this.#anchorAt(wall());
    this.#wallOffset = wall() - steady();
  }

  /**
   * Return the time in milliseconds since 1970. If the two clocks disagree, the later time counts: an old reading must
   * not be shown as new.
   * @returns {number}
   */
  now() {
    const { gateway, steady, wall } = this.#anchor;
    return gateway + Math.max(this.#steady() - steady, this.#wall() - wall);
  }

  /**
   * Set the time from a response to a request that was just sent.
   * @param {number} instant
   */
  setTime(instant) {
    this.#anchor = this.#anchorAt(instant);
  }

  /**
   * Set the time if the given instant is later. A message that the gateway sends by itself may have been delayed.
   * @param {number} instant
   */
  advanceTo(instant) {
    if (instant > this.now()) this.setTime(instant);
  }

  /**
   * Set the time from a Date header, unless it differs by less than the precision of that header.
   * @param {string | null} date
   */
  setFromDateHeader(date) {
    const instant = Date.parse(date ?? "");
    if (Math.abs(instant - this.now()) > HEADER_TOLERANCE) this.setTime(instant);
  }

  /**
   * Return whether the device has slept, or its clock was set, since the last call.
   * @returns {boolean}
   */
  detectJump() {
    const previous = this.#wallOffset;
    this.#wallOffset = this.#wall() - this.#steady();
    return Math.abs(this.#wallOffset - previous) > JUMP_THRESHOLD;
  }

  /** @param {number} gateway */
  #anchorAt(gateway) {
    return { gateway, steady: this.#steady(), wall: this.#wall() };
  }
}

/** The clock of this page. */
export const clock = new GatewayClock();

/**
 * Return the time of this page's clock, in milliseconds since 1970.
 * @returns {number}
 */
export function now() {
  return clock.now();
}
