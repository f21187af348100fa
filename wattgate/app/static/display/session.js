/** The log-in as the browser keeps it between visits: a token and its times. Never a password. */

import { now } from "./clock.js";
import { renew } from "./gateway.js";

const KEY = "wattgate.session";
/** A token that was refused so soon after it was made is not mended by another one. */
const YOUNG = 5_000;

export class Session {
  #kept;
  #ended = false;
  #renewing = null;

  constructor(kept) {
    this.#kept = kept;
  }

  /** The session of the last visit, or null when there is none that can still be good. */
  static resume() {
    const kept = read();
    return kept?.token && kept.expires > now() ? new Session(kept) : null;
  }

  static begin({ token, exp }) {
    const session = new Session(null);
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

  /** Get a further token, unless there is one already that is new or that another tab has got. */
  async renew() {
    const stored = read();
    if (stored?.expires > this.#kept.expires) this.#kept = stored;
    else if (now() - this.#kept.since > YOUNG) await this.#renewOnce();
  }

  end() {
    this.#ended = true;
    localStorage.removeItem(KEY);
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
    localStorage.setItem(KEY, JSON.stringify(this.#kept));
  }
}

function read() {
  try {
    return JSON.parse(localStorage.getItem(KEY));
  } catch {
    return null;
  }
}
