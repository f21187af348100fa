/** The login form. It sends the password and the code to the gateway and keeps no copy. */

import { find, findAs } from "./dom.js";
import { logIn, toGatewayError } from "./gateway.js";
import { loginText } from "./login-texts.js";

/** @import { GatewayError, Login } from "./gateway.js" */

const FIELDS = ["username", "password", "code"];

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
    this.#input("username").addEventListener("input", () => this.#showCode(false));
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
    const username = this.#input("username").value.trim();
    const password = this.#input("password").value;
    if (!username || !password) {
      const empty = username ? "password" : "username";
      this.#showError(loginText(`login.${empty}Missing`), [empty]);
      return null;
    }
    this.#button.disabled = true;
    const applicationId = this.#form.dataset.application ?? "";
    const code = this.#input("code").value.trim() || undefined;
    try {
      const login = await logIn({ username, password, applicationId, code });
      this.#input("password").value = "";
      this.#showCode(false);
      return login;
    } catch (thrown) {
      const error = toGatewayError(thrown);
      if (error.needsCode) this.#showCode(true);
      this.#showError(explainLoginError(error, code !== undefined), fieldsOf(error));
      return null;
    } finally {
      this.#button.disabled = false;
    }
  }

  /**
   * Show or hide the field for the code of the second factor.
   * @param {boolean} shown
   */
  #showCode(shown) {
    const input = this.#input("code");
    if (!shown) input.value = "";
    const label = input.closest("label");
    if (label) label.hidden = !shown;
  }

  /**
   * Show a message and mark the fields that it is about. The focus moves to the last of them.
   * @param {string} message
   * @param {string[]} wrongFields
   */
  #showError(message, wrongFields = []) {
    this.#error.textContent = message;
    this.#error.hidden = !message;
    for (const field of FIELDS) this.#input(field).removeAttribute("aria-invalid");
    for (const field of wrongFields) {
      const input = this.#input(field);
      input.setAttribute("aria-invalid", "true");
      input.focus();
      input.select();
    }
  }

  /** @param {string} name */
  #input(name) {
    return findAs(this.#form, `[name=${name}]`, HTMLInputElement);
  }
}

/**
 * Return the fields that an error is about.
 * @param {GatewayError} error
 * @returns {string[]}
 */
function fieldsOf(error) {
  if (error.needsCode) return ["code"];
  return error.unauthenticated ? ["username", "password"] : [];
}

/**
 * Return the message after a failed login. It never says whether the username exists.
 * @param {GatewayError} error
 * @param {boolean} [sentCode]  Whether the login had a code.
 * @returns {string}
 */
export function explainLoginError(error, sentCode = false) {
  if (error.needsCode && sentCode) return loginText("login.codeWrong");
  if (error.needsCode) return loginText("login.codeMissing");
  if (error.unauthenticated) return loginText("login.wrong");
  if (error.unreachable) return loginText("login.unreachable");
  const wait = formatWait(error.retryAfter);
  if (error.code === "RATE_LIMITED") return loginText("login.tooMany", { wait });
  if (error.code === "UNAVAILABLE") return loginText("login.unavailable", { wait });
  return loginText("login.failed", { message: error.message.replace(/\.$/, "") });
}

/**
 * Return a wait in words, such as 2 minutes.
 * @param {number} [seconds]
 * @returns {string}
 */
export function formatWait(seconds = 60) {
  if (seconds < 60) return loginText("login.seconds", { count: seconds });
  return loginText("login.minutes", { count: Math.ceil(seconds / 60) });
}
