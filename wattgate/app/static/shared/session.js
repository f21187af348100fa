/** The log-in as the browser keeps it between visits: a token and its times. Never a password. */

import { now } from "./clock.js";
import { renew } from "./gateway.js";

const KEY = "wattgate.session";
/** A token that is refused as soon as it was made may not be mended by another one: they are made no faster. */
const YOUNG = 5_000;

export class Session {
  #kept;
  #key;
  #ended = false;
  #renewing = null;

  constructor(kept, key) {
    this.#kept = kept;
    this.#key = key;
  }

  /** The session of the last visit, or null when there is none that can still be good. Pages may keep one each. */
  static resume(key = KEY) {
    const kept = read(key);
    return kept?.token && kept.expires > now() ? new Session(kept, key) : null;
  }

  static begin({ token, exp }, key = KEY) {
    const session = new Session(null, key);
    session.#keep({ token, exp });
    return session;
  }

  get token() {
    return this.#kept.token;
  }

  /** Milliseconds until half of the token's life is over: a display on a wall has nobody to log it in again. */
  get untilRenewal() {
    const { since, expires } = this.#kept;
    return Math.max(0, (since + expires) / 2 - now());
  }

  /** Get a further token, unless another tab has got one already. */
  async renew() {
    const stored = read(this.#key);
    if (stored?.expires > this.#kept.expires) {
      this.#kept = stored;
      return;
    }
    const early = this.#kept.since + YOUNG - now();
    if (early > 0) await new Promise((resolve) => { setTimeout(resolve, early); });
    await this.#renewOnce();
  }

  end() {
    this.#ended = true;
    localStorage.removeItem(this.#key);
  }

  #renewOnce() {
    this.#renewing ??= renew(this.token)
      .then((renewed) => this.#keep(renewed))
      .finally(() => (this.#renewing = null));
    return this.#renewing;
  }

  #keep({ token, exp }) {
    // A renewal that is answered after the log-out must not bring the session back.
    if (this.#ended) return;
    this.#kept = { token, since: now(), expires: exp * 1000 };
    localStorage.setItem(this.#key, JSON.stringify(this.#kept));
  }
}

function read(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
}
