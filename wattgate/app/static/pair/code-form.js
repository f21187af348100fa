/** The form for the code that a screen shows. */

import { text } from "../display/texts.js";
import { find, findAs } from "../shared/dom.js";
import { CODE_LENGTH, codeCharacters, formatCode } from "../shared/user-code.js";

export class CodeForm {
  /** @type {HTMLFormElement} */
  #form;
  /** @type {HTMLInputElement} */
  #input;

  /**
   * @param {HTMLFormElement} form
   * @param {(code: string) => void} onCode  Called with each complete code.
   */
  constructor(form, onCode) {
    this.#form = form;
    this.#input = findAs(form, "[name=code]", HTMLInputElement);
    this.#input.addEventListener("input", (event) => this.#format(/** @type {InputEvent} */ (event).inputType));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (codeCharacters(this.#input.value).length === CODE_LENGTH) onCode(formatCode(this.#input.value));
      else this.showError(text("pair.incomplete"));
    });
  }

  /**
   * Show or hide the form.
   * @param {boolean} visible
   */
  setVisible(visible) {
    this.#form.hidden = !visible;
  }

  /** @param {string} code */
  fill(code) {
    this.showError("");
    this.#input.value = code;
  }

  /** @param {boolean} busy */
  setBusy(busy) {
    findAs(this.#form, "button", HTMLButtonElement).disabled = busy;
  }

  focus() {
    this.#input.focus();
  }

  /**
   * Show why a code is not accepted, or remove the message.
   * @param {string} message
   */
  showError(message) {
    const error = find(this.#form, ".error");
    error.textContent = message;
    error.hidden = !message;
    if (!message) {
      this.#input.removeAttribute("aria-invalid");
      return;
    }
    this.#input.setAttribute("aria-invalid", "true");
    this.#input.focus();
    this.#input.select();
  }

  /**
   * Write the code as the screen shows it while it is typed at the end. Elsewhere the caret would jump.
   * @param {string} [change]  The kind of the change.
   */
  #format(change = "") {
    const { value, selectionStart } = this.#input;
    if (selectionStart === value.length && !change.startsWith("delete")) this.#input.value = formatCode(value);
  }
}
