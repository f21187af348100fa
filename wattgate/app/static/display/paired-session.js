/** The session of a paired screen: a credential of its own, for one home and for reading only. */

import { Session, readStored, storable } from "../shared/session.js";
import { checkPaired, endPaired } from "./pairing-requests.js";

/** @import { Login } from "../shared/gateway.js" */

/** The key in localStorage. It is not that of the users' sessions: a screen cannot do what its owner can. */
export const PAIRED_KEY = "wattgate.paired";
const CHECK_INTERVAL = 43_200_000;

export class PairedSession extends Session {
  /**
   * Return the stored session, or null if this screen is not paired. Only the gateway knows whether the credential has
   * expired: each use extends it, and the clock of the screen may be wrong.
   * @param {string} key
   * @returns {PairedSession | null}
   */
  static restore(key) {
    const stored = readStored(key);
    return stored?.token ? new PairedSession(stored, key) : null;
  }

  /**
   * Create and store a session.
   * @param {Login} paired
   * @param {string} key
   * @returns {PairedSession}
   */
  static pair(paired, key) {
    const session = new PairedSession(storable(paired), key);
    session.store();
    return session;
  }

  /** @override */
  get isPaired() {
    return true;
  }

  /**
   * Milliseconds until the credential is checked. It needs no renewal.
   * @override
   */
  get millisecondsUntilRenewal() {
    return CHECK_INTERVAL;
  }

  /**
   * Check that the credential is still valid.
   * @override
   */
  async renew() {
    await checkPaired(this.token);
  }

  /**
   * End the credential at the gateway.
   * @override
   */
  async revoke() {
    await endPaired(this.token);
  }
}
