/** The session of the IDE, and the dialog that logs in. It is apart from the sessions of other pages. */

import { find, findAs } from "../shared/dom.js";
import { logIn, logOut } from "../shared/gateway.js";
import { LoginForm } from "../shared/login-form.js";
import { Session } from "../shared/session.js";

/** @import { Login } from "../shared/gateway.js" */

const SESSION_KEY = "wattgate.ide.session";

export class IdeSession {
  /**
   * Called after each log-in and log-out. `ended` is true after a log-out.
   * @type {(ended: boolean) => void}
   */
  onChange = () => {};
  /** @type {Session | null} */
  #session;
  #key;
  #dialog;
  #form;

  constructor() {
    this.#dialog = findAs(document, ".login-dialog", HTMLDialogElement);
    const form = findAs(this.#dialog, ".login-form", HTMLFormElement);
    const { sessionScope } = form.dataset;
    this.#key = sessionScope ? `${SESSION_KEY}.${sessionScope}` : SESSION_KEY;
    this.#session = Session.resume(this.#key);
    this.#form = new LoginForm(form, (login) => this.#enter(login));
    find(this.#dialog, ".login-cancel").addEventListener("click", () => this.#dialog.close());
  }

  /** @returns {Session | null} */
  get current() {
    return this.#session;
  }

  /** The ID of the application to which users log in. Empty if the page knows none. */
  get applicationId() {
    return findAs(this.#dialog, ".login-form", HTMLFormElement).dataset.application ?? "";
  }

  /** The part of the dialog that the panels fill. */
  get extras() {
    return find(this.#dialog, ".login-extras");
  }

  /**
   * Open the dialog.
   * @param {string} reason
   */
  ask(reason) {
    const text = find(this.#dialog, ".login-reason");
    text.textContent = reason;
    text.hidden = !reason;
    if (!this.#dialog.open) this.#dialog.showModal();
    this.#form.show();
  }

  /** @param {{ applicationId: string, username: string, password: string, code?: string }} credentials */
  async logIn(credentials) {
    this.#enter(await logIn(credentials));
  }

  logOut() {
    // The browser discards the token even if the gateway cannot be reached.
    if (this.#session) logOut(this.#session.token).catch(() => {});
    this.#session?.discard();
    this.#session = null;
    this.onChange(true);
  }

  /** @param {Login} login */
  #enter(login) {
    this.#session = Session.create(login, this.#key);
    if (this.#dialog.open) this.#dialog.close();
    this.onChange(false);
  }
}
