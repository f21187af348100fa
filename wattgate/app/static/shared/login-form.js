/** The log-in form. The password goes to the gateway and nowhere else. */

import { logIn } from "./gateway.js";

export class LoginForm {
  #form;
  #error;
  #button;

  constructor(form, onLogin) {
    this.#form = form;
    this.#error = form.querySelector(".error");
    this.#button = form.querySelector("button");
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const login = await this.#submit();
      if (login) onLogin(login);
    });
  }

  show(message = "") {
    this.#showError(message);
    this.#form.elements.username.focus();
  }

  async #submit() {
    this.#showError("");
    this.#button.disabled = true;
    try {
      const { username, password, applicationId } = Object.fromEntries(new FormData(this.#form));
      const login = await logIn({ username: username.trim(), password, applicationId: applicationId.trim() });
      this.#form.elements.password.value = "";
      return login;
    } catch (error) {
      this.#showError(explain(error));
      if (error.unauthenticated) this.#form.elements.password.select();
      return null;
    } finally {
      this.#button.disabled = false;
    }
  }

  #showError(message) {
    this.#error.textContent = message;
    this.#error.hidden = !message;
  }
}

function explain(error) {
  if (error.unauthenticated) return "The username or the password is wrong.";
  if (error.unreachable) return "The gateway cannot be reached. Check the connection and try again.";
  return `The log-in did not work: ${error.message}.`;
}
