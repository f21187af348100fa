/** Shows the login form while there is no session, and the page while there is one. */

import { find, findAs, removeStartNotice } from "./dom.js";
import { LoginForm } from "./login-form.js";
import { DEFAULT_KEY, Session } from "./session.js";

/**
 * A page that needs a session. `start` runs with each new session, `stop` after it has ended.
 * @typedef {{ start(session: Session): void, stop(): void }} Page
 */

/**
 * A way to get a session other than the form, such as pairing.
 * @typedef {object} OtherEntry
 * @property {() => Session | null} resume  Return its session of the last visit. It has priority over that of the form.
 * @property {(ended: Session | null) => boolean} offer
 *   Show the entry, and return true; return false to show the form. `ended` is the session that has just ended.
 * @property {(session: Session | null) => void} hide  Hide the entry, because the page or the form is shown.
 * @property {(session: Session) => Promise<boolean>} confirmLogOut  Return whether the user wants to end the session.
 */

export class AuthenticatedView {
  /** @type {HTMLElement} */
  #view;
  /** @type {string} */
  #key;
  /** @type {LoginForm} */
  #form;
  /** @type {HTMLFormElement} */
  #formElement;
  /** @type {OtherEntry | null} */
  #other = null;
  /** @type {Page | null} */
  #page = null;
  /** @type {Session | null} */
  #session = null;

  /**
   * @param {HTMLElement} view  Hidden while the login form is shown.
   * @param {string} [pageKey]  The key under which the browser stores the session, if pages do not share theirs.
   */
  constructor(view, pageKey = DEFAULT_KEY) {
    this.#view = view;
    this.#formElement = findAs(document, ".login-form", HTMLFormElement);
    this.#key = this.scopedKey(pageKey);
    this.#form = new LoginForm(this.#formElement, (login) => this.enter(Session.create(login, this.#key)));
    find(document, ".logout").addEventListener("click", () => this.#logOut());
  }

  /** The ID of the application whose users log in, empty if the page knows none. */
  get applicationId() {
    return this.#formElement.dataset.application ?? "";
  }

  /**
   * Return the key under which the browser stores a session. Sessions of an application that the address names are
   * stored apart from those of the default application.
   * @param {string} key
   */
  scopedKey(key) {
    const { sessionScope } = this.#formElement.dataset;
    return sessionScope ? `${key}.${sessionScope}` : key;
  }

  /**
   * Start the page with the stored session, or show how to get one.
   * @param {Page} page
   * @param {OtherEntry | null} [other]
   */
  start(page, other = null) {
    this.#page = page;
    this.#other = other;
    const session = other?.resume() ?? Session.resume(this.#key);
    if (session) this.enter(session);
    else this.end();
    removeStartNotice();
  }

  /**
   * Start the page with a session.
   * @param {Session} session
   */
  enter(session) {
    this.#session = session;
    this.#other?.hide(session);
    this.#showPage(true);
    this.#page?.start(session);
  }

  /**
   * Stop the page, discard the session and show how to get another one.
   * @param {string} [message]  Why the session ended.
   */
  end(message) {
    const ended = this.#session;
    this.#page?.stop();
    ended?.discard();
    this.#session = null;
    this.#showPage(false);
    if (!this.#other?.offer(ended)) this.showForm(message);
  }

  /**
   * Show the login form.
   * @param {string} [message]
   */
  showForm(message) {
    this.#other?.hide(null);
    this.#showPage(false);
    this.#form.show(message);
  }

  async #logOut() {
    const session = this.#session;
    if (session && this.#other && !(await this.#other.confirmLogOut(session))) return;
    if (session !== this.#session) return;
    // The browser discards the token even if the gateway cannot be reached.
    session?.revoke().catch(() => {});
    this.end();
  }

  /** @param {boolean} visible */
  #showPage(visible) {
    this.#view.hidden = !visible;
    find(document, ".login-view").hidden = visible;
  }
}
