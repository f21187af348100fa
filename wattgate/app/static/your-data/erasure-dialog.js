/** The dialog that asks before something is deleted: for the name of the home, the password, and a code if needed. */

import { text } from "../display/texts.js";
import { element, find, findAs } from "../shared/dom.js";
import { toGatewayError } from "../shared/gateway.js";
import { explainLoginError } from "../shared/login-form.js";
import { isNameOf } from "./wording.js";

/** @import { GatewayError } from "../shared/gateway.js" */
/** @import { Proof } from "./requests.js" */

/**
 * @typedef {object} Question
 * @property {string} title
 * @property {string[]} details
 * @property {string} action  The label of the button that confirms.
 * @property {string | null} name  The name that has to be typed, if any.
 * @property {boolean} asksPassword  Whether the password has a field from the start. Otherwise it gets one when the gateway needs it.
 * @property {(proof: Proof) => Promise<void>} act
 */

/** @typedef {"name" | "password" | "code"} Field */

/** @type {Field[]} */
const FIELDS = ["name", "password", "code"];

export class ErasureDialog {
  /** @type {HTMLDialogElement} */
  #dialog;
  /** @type {() => void} */
  #onSessionEnded;
  /** @type {Question | null} */
  #question = null;
  /** @type {((done: boolean) => void) | null} */
  #answer = null;

  /**
   * @param {HTMLDialogElement} dialog
   * @param {() => void} onSessionEnded  Called when the gateway rejects the session.
   */
  constructor(dialog, onSessionEnded) {
    this.#dialog = dialog;
    this.#onSessionEnded = onSessionEnded;
    find(dialog, ".cancel").addEventListener("click", () => this.close());
    dialog.addEventListener("close", () => this.#end(false));
    find(dialog, "form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
  }

  /**
   * Ask, and act when the user confirms. Return whether that has succeeded.
   * @param {Question} question
   * @returns {Promise<boolean>}
   */
  ask(question) {
    this.#end(false);
    this.#question = question;
    find(this.#dialog, "h2").textContent = question.title;
    find(this.#dialog, ".details").replaceChildren(...question.details.map((words) => element("p", {}, words)));
    find(this.#dialog, ".name-field span").textContent = text("own.typeName", { name: question.name ?? "" });
    this.#button.textContent = question.action;
    for (const field of FIELDS) this.#input(field).value = "";
    this.#show("name", question.name !== null);
    this.#show("password", question.asksPassword);
    this.#show("code", false);
    this.#say("");
    this.#dialog.showModal();
    this.#input(question.name === null ? "password" : "name").focus();
    return new Promise((resolve) => { this.#answer = resolve; });
  }

  /** Close the dialog without doing anything. */
  close() {
    this.#end(false);
  }

  async #submit() {
    const question = this.#question;
    if (!question || this.#button.disabled) return;
    this.#say("");
    if (question.name !== null && !isNameOf(this.#input("name").value, question.name)) {
      this.#say(text("own.nameDiffers", { name: question.name }), "name");
      return;
    }
    const [password, code] = [this.#input("password").value, this.#input("code").value.trim()];
    if (this.#isShown("password") && !password) {
      this.#say(text("own.passwordMissing"), "password");
      return;
    }
    this.#button.disabled = true;
    try {
      await question.act({ password: password || undefined, code: code || undefined });
      if (question === this.#question) this.#end(true);
    } catch (thrown) {
      if (question === this.#question) this.#explain(toGatewayError(thrown), Boolean(code));
    } finally {
      this.#button.disabled = false;
    }
  }

  /** @param {GatewayError} error @param {boolean} sentCode */
  #explain(error, sentCode) {
    if (error.unauthenticated) {
      this.#end(false);
      this.#onSessionEnded();
    } else if (error.code === "REAUTHENTICATION_REQUIRED") {
      this.#show("password", true);
      this.#say(text("own.passwordNeeded"), "password");
    } else if (error.needsCode) {
      this.#show("code", true);
      this.#say(explainLoginError(error, sentCode), "code");
    } else if (error.code === "BAD_INPUT" && this.#isShown("password")) {
      this.#say(text("own.passwordWrong"), "password");
    } else if (error.unreachable) {
      this.#say(text("own.unreachable"));
    } else {
      this.#say(["RATE_LIMITED", "UNAVAILABLE"].includes(error.code ?? "") ? explainLoginError(error) : error.message);
    }
  }

  /**
   * Show what is wrong, and move the focus to its field.
   * @param {string} message
   * @param {Field | null} [wrong]
   */
  #say(message, wrong = null) {
    find(this.#dialog, ".error").textContent = message;
    for (const field of FIELDS) this.#input(field).toggleAttribute("aria-invalid", field === wrong);
    if (!wrong) return;
    this.#input(wrong).setAttribute("aria-invalid", "true");
    this.#input(wrong).focus();
    this.#input(wrong).select();
  }

  /** @param {boolean} done */
  #end(done) {
    const answer = this.#answer;
    this.#answer = this.#question = null;
    for (const field of FIELDS) this.#input(field).value = "";
    if (this.#dialog.open) this.#dialog.close();
    answer?.(done);
  }

  /** @param {Field} field @param {boolean} shown */
  #show(field, shown) {
    find(this.#dialog, `.${field}-field`).hidden = !shown;
  }

  /** @param {Field} field */
  #isShown(field) {
    return !find(this.#dialog, `.${field}-field`).hidden;
  }

  /** @param {Field} field */
  #input(field) {
    return findAs(this.#dialog, `[name=${field}]`, HTMLInputElement);
  }

  get #button() {
    return findAs(this.#dialog, ".confirm", HTMLButtonElement);
  }
}
