/** Shows the login form while there is no session, and the page while there is one. */

import { find, findAs } from "./dom.js";
import { logOut } from "./gateway.js";
import { LoginForm } from "./login-form.js";
import { DEFAULT_KEY, Session } from "./session.js";

/**
 * A page that needs a session. `start` runs with each new session, `stop` after it has ended.
 * @typedef {{ start(session: Session): void, stop(): void }} Page
 */

export class AuthenticatedView {
  /** @type {HTMLElement} */
  #view;
  /** @type {LoginForm} */
  #form;
  /** @type {Page | null} */
  #page = null;
  /** @type {Session | null} */
  #session;

  /**
   * @param {HTMLElement} view  Hidden while the login form is shown.
   * @param {string} [pageKey]  The key under which the browser stores the session, if pages do not share theirs.
   */
  constructor(view, pageKey = DEFAULT_KEY) {
    this.#view = view;
    const form = findAs(document, ".login-form", HTMLFormElement);
    // Sessions of an application that the address names are stored apart from those of the default application.
    const { sessionScope } = form.dataset;
    const key = sessionScope ? `${pageKey}.${sessionScope}` : pageKey;
    this.#form = new LoginForm(form, (login) => this.#enter(Session.create(login, key)));
    this.#session = Session.resume(key);
    find(document, ".logout").addEventListener("click", () => this.#logOut());
  }

  /**
   * Start the page with the stored session, or show the login form.
   * @param {Page} page
   */
  start(page) {
    this.#page = page;
    if (this.#session) this.#enter(this.#session);
    else this.end();
  }

  /**
   * Stop the page, discard the session and show the login form.
   * @param {string} [message]  Why the session ended.
   */
  end(message) {
    this.#page?.stop();
    this.#session?.discard();
    this.#session = null;
    this.#showForm(true);
    this.#form.show(message);
  }

  #logOut() {
    // The browser discards the token even if the gateway cannot be reached.
    if (this.#session) logOut(this.#session.token).catch(() => {});
    this.end();
  }

  /** @param {Session} session */
  #enter(session) {
    this.#session = session;
    this.#showForm(false);
    this.#page?.start(session);
  }

  /** @param {boolean} visible */
  #showForm(visible) {
    this.#view.hidden = visible;
    find(document, ".login-view").hidden = !visible;
  }
}
