/** The log-in form. The password goes to the gateway and nowhere else. */

import { logIn } from "./gateway.js";

export class LoginForm {
  #form;
  #error;
  #button;

  constructor(form, loggedIn) {
    this.#form = form;
    this.#error = form.querySelector(".error");
    this.#button = form.querySelector("button");
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const login = await this.#submit();
      if (login) loggedIn(login);
    });
  }

  show(message = "") {
    this.#tell(message);
    this.#form.elements.username.focus();
  }

  async #submit() {
    this.#tell("");
    this.#button.disabled = true;
    try {
      const { username, password, applicationId } = Object.fromEntries(new FormData(this.#form));
      const login = await logIn({ username: username.trim(), password, applicationId: applicationId.trim() });
      this.#form.elements.password.value = "";
      return login;
    } catch (error) {
      this.#tell(explained(error));
      if (error.denied) this.#form.elements.password.select();
      return null;
    } finally {
      this.#button.disabled = false;
    }
  }

  #tell(message) {
    this.#error.textContent = message;
    this.#error.hidden = !message;
  }
}

function explained(error) {
  if (error.denied) return "The username or the password is wrong.";
  if (error.unreachable) return "The gateway cannot be reached. Check the connection and try again.";
  return `The log-in did not work: ${error.message}.`;
}
