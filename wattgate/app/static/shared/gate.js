/** Shows the log-in form or what is behind it, whichever is due. */

import { logOut } from "./gateway.js";
import { LoginForm } from "./login.js";
import { Session } from "./session.js";

const FORM = ".login-view";

export class Gate {
  #form;
  #view;
  #behind = null;
  #session;

  /** `view` is what is behind the form; its log-in is kept under `key`, if not under that of all pages. */
  constructor(view, key) {
    this.#view = view;
    this.#form = new LoginForm(document.querySelector(".login-form"), (login) => this.#enter(Session.begin(login, key)));
    this.#session = Session.resume(key);
    document.querySelector(".logout").addEventListener("click", () => {
      // Whether or not the gateway can be told, the browser forgets the token.
      logOut(this.#session.token).catch(() => {});
      this.leave();
    });
  }

  /** Begin: `behind` is started with each session, and stopped after it. */
  open(behind) {
    this.#behind = behind;
    if (this.#session) this.#enter(this.#session);
    else this.leave();
  }

  leave(message) {
    this.#behind.stop();
    this.#session?.end();
    this.#session = null;
    this.#show(true);
    this.#form.show(message);
  }

  #enter(session) {
    this.#session = session;
    this.#show(false);
    this.#behind.start(session);
  }

  #show(form) {
    this.#view.hidden = form;
    document.querySelector(FORM).hidden = !form;
  }
}
