/** A form of an account page: it checks its fields, sends them and shows errors. */

import { find, findAll, findAllAs, findAs, removeStartNotice } from "../shared/dom.js";
import { toGatewayError } from "../shared/gateway.js";
import { formatWait } from "../shared/login-form.js";

/** @import { GatewayError } from "../shared/gateway.js" */
/** @import { Values } from "./requests.js" */

export class AccountForm {
  /** @type {HTMLFormElement} */
  #form;
  /** @type {HTMLElement} */
  #error;

  /**
   * @param {string} id
   * @param {(values: Values) => Promise<void>} send  Sends the values. It runs when the user submits the form.
   * @param {(values: Values) => void} onDone  Called after each successful request.
   */
  constructor(id, send, onDone) {
    this.#form = findAs(document, `#${id}`, HTMLFormElement);
    this.#error = find(this.#form, ".error");
    this.#form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (await this.submit(send)) onDone(this.#values());
    });
    // Until now the buttons are disabled: without this script, the browser would send the form to the page itself.
    for (const button of findAllAs(this.#form, "button", HTMLButtonElement)) button.disabled = false;
    removeStartNotice();
  }

  /**
   * Fill the fields with these names, and move the focus to the first empty one.
   * @param {Record<string, string | null>} values
   */
  fill(values) {
    for (const input of this.#inputs()) {
      const value = values[input.name];
      if (value) input.value = value;
    }
    this.#inputs()
      .find((input) => !input.value)
      ?.focus();
  }

  /** @param {boolean} visible */
  show(visible) {
    this.#form.hidden = !visible;
  }

  /**
   * Send the values of the fields. Return whether it succeeded; otherwise the form shows why not.
   * @param {(values: Values) => Promise<void>} send
   * @param {string[]} [optional]  Names of fields that may be empty.
   * @returns {Promise<boolean>}
   */
  async submit(send, optional = []) {
    this.#showError("");
    const empty = this.#inputs().find((input) => !input.value.trim() && !optional.includes(input.name));
    if (empty) {
      this.#showError("Fill in all fields.", empty);
      return false;
    }
    const buttons = findAllAs(this.#form, "button", HTMLButtonElement);
    for (const button of buttons) button.disabled = true;
    try {
      await send(this.#values());
      return true;
    } catch (thrown) {
      this.#showError(explainError(toGatewayError(thrown)));
      return false;
    } finally {
      for (const button of buttons) button.disabled = false;
    }
  }

  #inputs() {
    return findAllAs(this.#form, "input", HTMLInputElement);
  }

  /** @returns {Values} */
  #values() {
    const applicationId = find(document, ".account-steps").dataset.application ?? "";
    const entries = this.#inputs().map(({ name, type, value }) => [name, type === "password" ? value : value.trim()]);
    return { applicationId, ...Object.fromEntries(entries) };
  }

  /**
   * @param {string} message
   * @param {HTMLInputElement} [wrong]
   */
  #showError(message, wrong) {
    this.#error.textContent = message;
    this.#error.hidden = !message;
    for (const input of this.#inputs()) input.removeAttribute("aria-invalid");
    wrong?.setAttribute("aria-invalid", "true");
    wrong?.focus();
  }
}

/**
 * Return the values in the fragment of the address, and remove it: it may have a code, which the history must not keep.
 * @returns {{ username: string | null, token: string | null }}
 */
export function takeFragment() {
  const values = new URLSearchParams(location.hash.slice(1));
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
  return { username: values.get("username"), token: values.get("code") };
}

/** Hide all forms, and say that the page has done its work. */
export function showDone() {
  for (const form of findAll(document, ".account-steps form")) form.hidden = true;
  find(document, ".done").hidden = false;
  find(document, ".login-links a").focus();
}

/**
 * Return the message after a failed request.
 * @param {GatewayError} error
 * @returns {string}
 */
export function explainError(error) {
  if (error.unreachable) return "The gateway cannot be reached. Check the connection and try again.";
  if (error.code === "RATE_LIMITED") return `Too many attempts. Try again in ${formatWait(error.retryAfter)}.`;
  const message = error.message.replace(/\.$/, "");
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}
