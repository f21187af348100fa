/** The session that the browser keeps between visits: a token and its times. The password is never stored. */

import { now } from "./clock.js";
import { logOut, renew } from "./gateway.js";

/** @import { Login } from "./gateway.js" */

/**
 * A token, and the times in milliseconds since 1970 at which it was received and at which it expires. `account` has the
 * IDs of the application and the account, if the log-in sent them.
 * @typedef {{ token: string, since: number, expires: number, account?: string }} StoredSession
 */

/** The key in localStorage of pages that share a session. */
export const DEFAULT_KEY = "wattgate.session";
/** If the gateway rejects a new token at once, another token may not help: wait this many milliseconds in between. */
const MIN_RENEWAL_AGE = 5_000;

export class Session {
  /** @type {StoredSession} */
  #stored;
  /** @type {string} */
  #key;
  #discarded = false;
  /** @type {Promise<void> | null} */
  #renewing = null;

  /**
   * @param {StoredSession} stored
   * @param {string} key
   */
  constructor(stored, key) {
    this.#stored = stored;
    this.#key = key;
  }

  /**
   * Return the session of the last visit, or null if there is none or it has expired.
   * @param {string} [key]  The key in localStorage. Pages may have separate sessions.
   * @returns {Session | null}
   */
  static resume(key = DEFAULT_KEY) {
    const stored = readStored(key);
    return stored?.token && stored.expires > now() ? new Session(stored, key) : null;
  }

  /**
   * Create and store a session.
   * @param {Login} login
   * @param {string} [key]
   * @returns {Session}
   */
  static create(login, key = DEFAULT_KEY) {
    const session = new Session(storable(login), key);
    session.store();
    return session;
  }

  /** The current token. */
  get token() {
    return this.#stored.token;
  }

  /** The IDs of the application and the account. Null if they are not known: an older page stored the session. */
  get account() {
    return this.#stored.account ?? null;
  }

  /** Whether this is a paired screen, whose credential reads one home, and neither alerts nor the account. */
  get isPaired() {
    return false;
  }

  /**
   * Milliseconds until half of the token's lifetime is over. The page renews its token then, because nobody may be
   * there to log in a wall display again.
   */
  get millisecondsUntilRenewal() {
    const { since, expires } = this.#stored;
    return Math.max(0, (since + expires) / 2 - now());
  }

  /** Get a new token, unless another tab has already stored one. */
  async renew() {
    const newest = readStored(this.#key);
    if (newest && newest.expires > this.#stored.expires) {
      this.#stored = newest;
      return;
    }
    const wait = this.#stored.since + MIN_RENEWAL_AGE - now();
    if (wait > 0) await new Promise((resolve) => { setTimeout(resolve, wait); });
    await this.#renewOnce();
  }

  /** Revoke the token at the gateway. */
  async revoke() {
    await logOut(this.token);
  }

  /** Write the session into the storage of the browser. */
  store() {
    localStorage.setItem(this.#key, JSON.stringify(this.#stored));
  }

  /** Remove the session from the browser. */
  discard() {
    this.#discarded = true;
    localStorage.removeItem(this.#key);
  }

  #renewOnce() {
    this.#renewing ??= renew(this.token)
      .then((login) => this.#replace(login))
      .finally(() => (this.#renewing = null));
    return this.#renewing;
  }

  /** @param {Login} login */
  #replace(login) {
    // The response to a renewal may arrive after the log-out. It must not restore the session.
    if (this.#discarded) return;
    this.#stored = { ...this.#stored, ...storable(login) };
    this.store();
  }
}

/**
 * Return a token that was just received as it is stored.
 * @param {Login} login
 * @returns {StoredSession}
 */
export function storable({ token, expiresAt, accountId, applicationId }) {
  return { token, since: now(), expires: Date.parse(expiresAt), ...(accountId && { account: `${applicationId} ${accountId}` }) };
}

/**
 * Return what the browser has stored under a key, or null.
 * @param {string} key
 * @returns {StoredSession | null}
 */
export function readStored(key) {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null");
  } catch {
    return null;
  }
}
