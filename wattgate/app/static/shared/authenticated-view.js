/** Shows the log-in form or the page behind it, whichever is due. */

import { logOut } from "./gateway.js";
import { LoginForm } from "./login-form.js";
import { Session } from "./session.js";

const FORM = ".login-view";

export class AuthenticatedView {
  #form;
  #view;
  #page = null;
  #session;

  /** `view` is what is behind the form; its log-in is kept under `key`, if not under that of all pages. */
  constructor(view, key) {
    this.#view = view;
    this.#form = new LoginForm(document.querySelector(".login-form"), (login) => this.#enter(Session.create(login, key)));
    this.#session = Session.resume(key);
    document.querySelector(".logout").addEventListener("click", () => {
      // Whether or not the gateway can be told, the browser forgets the token.
      logOut(this.#session.token).catch(() => {});
      this.end();
    });
  }

  /** Begin: `page` is started with each session, and stopped after it. */
  start(page) {
    this.#page = page;
    if (this.#session) this.#enter(this.#session);
    else this.end();
  }

  end(message) {
    this.#page.stop();
    this.#session?.discard();
    this.#session = null;
    this.#showForm(true);
    this.#form.show(message);
  }

  #enter(session) {
    this.#session = session;
    this.#showForm(false);
    this.#page.start(session);
  }

  #showForm(visible) {
    this.#view.hidden = visible;
    document.querySelector(FORM).hidden = !visible;
  }
}
