/** The log-in as the browser keeps it between visits: a token and its times. Never a password. */

import { now } from "./clock.js";
import { renew } from "./gateway.js";

const KEY = "wattgate.session";

export class Session {
  #kept;
  #ended = false;

  constructor(kept) {
    this.#kept = kept;
  }

  /** The session of the last visit, or null when there is none that can still be good. */
  static resume() {
    try {
      const kept = JSON.parse(localStorage.getItem(KEY));
      return kept?.token && kept.expires > now() ? new Session(kept) : null;
    } catch {
      return null;
    }
  }

  static begin({ token, exp }) {
    const session = new Session(null);
    session.#keep({ token, exp });
    return session;
  }

  get token() {
    return this.#kept.token;
  }

  /** Get a further token when half of this one's life is over: a display on a wall has nobody to log it in again. */
  async renewInTime() {
    const { since, expires } = this.#kept;
    if (now() > (since + expires) / 2) this.#keep(await renew(this.token));
  }

  end() {
    this.#ended = true;
    localStorage.removeItem(KEY);
  }

  #keep({ token, exp }) {
    // A renewal that is answered after the log-out must not bring the session back.
    if (this.#ended) return;
    this.#kept = { token, since: now(), expires: exp * 1000 };
    localStorage.setItem(KEY, JSON.stringify(this.#kept));
  }
}
