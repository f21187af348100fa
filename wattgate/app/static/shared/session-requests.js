/** Sends the requests of a page in its session, and shows their errors in the notice of the page. */

import { text } from "../display/texts.js";
import { find } from "./dom.js";
import { toGatewayError } from "./gateway.js";

/** @import { TextKey } from "../display/texts.js" */
/** @import { GatewayError } from "./gateway.js" */
/** @import { Session } from "./session.js" */

export class SessionRequests {
  /** @type {Session | null} */
  session = null;
  /** @type {HTMLElement} */
  #notice;
  /** @type {() => void} */
  #onSessionEnded;
  /** @type {TextKey} */
  #unreachable;

  /**
   * @param {HTMLElement} root
   * @param {() => void} onSessionEnded  Called when the gateway rejects the session.
   * @param {TextKey} unreachable  The text that says that no response arrived.
   */
  constructor(root, onSessionEnded, unreachable) {
    this.#notice = find(root, ".notice");
    this.#onSessionEnded = onSessionEnded;
    this.#unreachable = unreachable;
  }

  /** The token of the session. */
  get token() {
    return this.session?.token ?? "";
  }

  /**
   * Return the result of a request. Return null, and show the error, if it failed, or if the session is another one now.
   * @template T
   * @param {() => Promise<T>} request
   * @returns {Promise<T | null>}
   */
  async send(request) {
    const session = this.session;
    try {
      const result = await request();
      return session === this.session ? result : null;
    } catch (thrown) {
      if (session === this.session) this.#report(toGatewayError(thrown));
      return null;
    }
  }

  /** @param {GatewayError} error */
  #report(error) {
    if (error.unauthenticated) this.#onSessionEnded();
    else if (error.unreachable) this.say(text(this.#unreachable));
    else if (error.code !== "CANCELLED") this.say(error.message);
  }

  /**
   * Show a message in the notice, and move the focus there. An empty message hides the notice.
   * @param {string} message
   */
  say(message) {
    this.#notice.textContent = message;
    if (message) this.#notice.focus();
  }
}
