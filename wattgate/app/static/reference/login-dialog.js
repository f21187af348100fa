/** The dialog in which the user logs in, or gives a token or the credential of an application. */

import { find, findAll, findAs } from "../shared/dom.js";
import { logIn, toGatewayError } from "../shared/gateway.js";
import { LoginForm, explainLoginError } from "../shared/login-form.js";

/** @import { Credentials } from "./credentials.js" */

export class LoginDialog {
  /** @type {HTMLDialogElement} */
  #dialog;
  /** @type {Credentials} */
  #credentials;
  /** @type {LoginForm} */
  #form;
  /** @type {(() => void) | null} */
  #onDone = null;

  /**
   * @param {HTMLDialogElement} dialog
   * @param {Credentials} credentials
   */
  constructor(dialog, credentials) {
    this.#dialog = dialog;
    this.#credentials = credentials;
    const form = findAs(dialog, ".login-form", HTMLFormElement);
    const application = findAs(form, "[name=application]", HTMLInputElement);
    application.addEventListener("input", () => { form.dataset.application = application.value.trim(); });
    this.#form = new LoginForm(form, (login) => {
      credentials.logIn(login, findAs(form, "[name=username]", HTMLInputElement).value.trim());
      this.#close(true);
    });
    for (const button of findAll(dialog, ".demonstration button")) {
      button.addEventListener("click", () => this.#logInToDemonstration(button));
    }
    this.#onSubmit(".token-form", ({ token }) => credentials.useToken(token));
    this.#onSubmit(".application-credential", ({ name, secret, userId }) => credentials.useApplication(name, secret, userId));
    find(dialog, ".close").addEventListener("click", () => this.#close(false));
  }

  /**
   * Show the dialog.
   * @param {string} [message]  Why the user has to log in.
   * @param {() => void} [onDone]  Called when there is a credential.
   */
  open(message = "", onDone = () => {}) {
    this.#onDone = onDone;
    this.#dialog.showModal();
    this.#form.show(message);
    const demonstration = this.#dialog.querySelector(".demonstration button");
    if (demonstration instanceof HTMLElement) demonstration.focus();
  }

  /** @param {HTMLElement} button */
  async #logInToDemonstration(button) {
    const { username = "", password = "", application = "" } = button.dataset;
    try {
      this.#credentials.logIn(await logIn({ applicationId: application, username, password }), username);
      this.#close(true);
    } catch (thrown) {
      this.#form.show(explainLoginError(toGatewayError(thrown)));
    }
  }

  /**
   * Take the values of a form when the user submits it, unless a required one is missing.
   * @param {string} selector
   * @param {(values: Record<string, string>) => void} take
   */
  #onSubmit(selector, take) {
    const form = findAs(this.#dialog, selector, HTMLFormElement);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const entries = [...new FormData(form)].map(([name, value]) => [name, String(value).trim()]);
      form.reset();
      take(Object.fromEntries(entries));
      this.#close(true);
    });
  }

  /** @param {boolean} isDone */
  #close(isDone) {
    const onDone = this.#onDone;
    this.#onDone = null;
    this.#dialog.close();
    if (isDone) onDone?.();
  }
}
