/** The log-in as the browser keeps it between visits: a token and its times. Never a password. */

import { now } from "./clock.js";
import { renew } from "./gateway.js";

const KEY = "wattgate.session";
/** A token that is refused as soon as it was made may not be mended by another one: they are made no faster. */
const MIN_RENEWAL_AGE = 5_000;

export class Session {
  #stored;
  #key;
  #discarded = false;
  #renewing = null;

  constructor(stored, key) {
    this.#stored = stored;
    this.#key = key;
  }

  /** The session of the last visit, or null when there is none that can still be good. Pages may keep one each. */
  static resume(key = KEY) {
    const stored = read(key);
    return stored?.token && stored.expires > now() ? new Session(stored, key) : null;
  }

  static create({ token, exp }, key = KEY) {
    const session = new Session(null, key);
    session.#store({ token, exp });
    return session;
  }

  get token() {
    return this.#stored.token;
  }

  /** Milliseconds until half of the token's life is over: a display on a wall has nobody to log it in again. */
  get millisecondsUntilRenewal() {
    const { since, expires } = this.#stored;
    return Math.max(0, (since + expires) / 2 - now());
  }

  /** Get a further token, unless another tab has got one already. */
  async renew() {
    const newest = read(this.#key);
    if (newest?.expires > this.#stored.expires) {
      this.#stored = newest;
      return;
    }
    const wait = this.#stored.since + MIN_RENEWAL_AGE - now();
    if (wait > 0) await new Promise((resolve) => { setTimeout(resolve, wait); });
    await this.#renewOnce();
  }

  discard() {
    this.#discarded = true;
    localStorage.removeItem(this.#key);
  }

  #renewOnce() {
    this.#renewing ??= renew(this.token)
      .then((renewed) => this.#store(renewed))
      .finally(() => (this.#renewing = null));
    return this.#renewing;
  }

  #store({ token, exp }) {
    // A renewal that is answered after the log-out must not bring the session back.
    if (this.#discarded) return;
    this.#stored = { token, since: now(), expires: exp * 1000 };
    localStorage.setItem(this.#key, JSON.stringify(this.#stored));
  }
}

function read(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
}
