/** The login form. It sends the password to the gateway and keeps no copy. */

import { find, findAs } from "./dom.js";
import { logIn, toGatewayError } from "./gateway.js";

/** @import { GatewayError, Login } from "./gateway.js" */

export class LoginForm {
  /** @type {HTMLFormElement} */
  #form;
  /** @type {HTMLElement} */
  #error;
  /** @type {HTMLButtonElement} */
  #button;

  /**
   * @param {HTMLFormElement} form
   * @param {(login: Login) => void} onLogin  Called after each successful login.
   */
  constructor(form, onLogin) {
    this.#form = form;
    this.#error = find(form, ".error");
    this.#button = findAs(form, "button", HTMLButtonElement);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const login = await this.#submit();
      if (login) onLogin(login);
    });
  }

  /**
   * Move the focus to the form and show a message, for example why the session ended.
   * @param {string} message
   */
  show(message = "") {
    this.#showError(message);
    this.#input("username").focus();
  }

  async #submit() {
    this.#showError("");
    this.#button.disabled = true;
    try {
      const login = await logIn({
        username: this.#input("username").value.trim(),
        password: this.#input("password").value,
        applicationId: this.#input("applicationId").value.trim(),
      });
      this.#input("password").value = "";
      return login;
    } catch (thrown) {
      const error = toGatewayError(thrown);
      this.#showError(explain(error));
      if (error.unauthenticated) this.#input("password").select();
      return null;
    } finally {
      this.#button.disabled = false;
    }
  }

  /** @param {string} message */
  #showError(message) {
    this.#error.textContent = message;
    this.#error.hidden = !message;
  }

  /** @param {string} name */
  #input(name) {
    return findAs(this.#form, `[name=${name}]`, HTMLInputElement);
  }
}

/** @param {GatewayError} error */
function explain(error) {
  if (error.unauthenticated) return "The username or the password is wrong.";
  if (error.unreachable) return "The gateway cannot be reached. Check the connection and try again.";
  return `The login failed: ${error.message}.`;
}
