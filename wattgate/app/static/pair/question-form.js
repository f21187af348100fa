/** The form that asks whether a screen may show a home, which one, and under which name. */

import { text } from "../display/texts.js";
import { element, find, findAll, findAs } from "../shared/dom.js";
import { spellCode } from "../shared/user-code.js";
import { SUGGESTED_ROOMS } from "./wording.js";

/** @import { OwnHome } from "./requests.js" */

export class QuestionForm {
  /** @type {HTMLFormElement} */
  #form;
  /** @type {HTMLInputElement} */
  #name;
  /** @type {HTMLSelectElement} */
  #home;

  /**
   * @param {HTMLFormElement} form
   * @param {{ onApprove: (home: OwnHome, name: string) => void, onDeny: () => void }} handlers
   */
  constructor(form, { onApprove, onDeny }) {
    this.#form = form;
    this.#name = findAs(form, "[name=name]", HTMLInputElement);
    this.#home = findAs(form, "select", HTMLSelectElement);
    find(form, ".deny").addEventListener("click", onDeny);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const name = this.#name.value.trim();
      if (name) onApprove({ homeId: this.#home.value, name: this.#home.selectedOptions[0].text }, name);
      else this.showError(text("pair.nameMissing"), true);
    });
  }

  /**
   * Ask about a code.
   * @param {string} code
   * @param {OwnHome[]} homes
   * @param {string} name  The name to begin with.
   */
  ask(code, homes, name) {
    find(this.#form, ".code-shown").textContent = code;
    find(this.#form, ".code-spelled").textContent = spellCode(code);
    find(this.#form, "datalist").replaceChildren(...SUGGESTED_ROOMS.map((key) => element("option", { value: text(key) })));
    this.#home.replaceChildren(...homes.map((home) => new Option(home.name, home.homeId)));
    this.#name.value = name;
    this.showError("");
    this.setVisible(true);
    find(this.#form, "h2").focus();
  }

  /** @param {boolean} visible */
  setVisible(visible) {
    this.#form.hidden = !visible;
  }

  /** @param {boolean} busy */
  setBusy(busy) {
    for (const button of findAll(this.#form, "button")) button.toggleAttribute("disabled", busy);
  }

  /**
   * Show why the answer is not accepted, or remove the message.
   * @param {string} message
   * @param {boolean} [isName]  Whether the message is about the name.
   */
  showError(message, isName = false) {
    const error = find(this.#form, ".error");
    error.textContent = message;
    error.hidden = !message;
    if (isName) this.#name.setAttribute("aria-invalid", "true");
    else this.#name.removeAttribute("aria-invalid");
    if (isName) this.#name.focus();
  }
}
