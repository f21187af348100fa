/** A dialog that asks before an action, and says what the action changes. */

import { element, find, findAs } from "./dom.js";

/** @import { Child } from "./dom.js" */

/**
 * @typedef {object} Question
 * @property {string} title
 * @property {Child[]} details  Paragraphs that say what changes, and for whom.
 * @property {string} action  The label of the button that confirms.
 * @property {string} [cancel]  The label of the other button.
 * @property {string | null} [blocked]  Why the action is not possible. The dialog then only explains it.
 */

export class ConfirmDialog {
  /** @type {HTMLDialogElement} */
  #dialog;
  /** @type {((confirmed: boolean) => void) | null} */
  #answer = null;

  /** @param {HTMLDialogElement} dialog */
  constructor(dialog) {
    this.#dialog = dialog;
    find(dialog, ".cancel").addEventListener("click", () => this.#close(false));
    find(dialog, "form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#close(true);
    });
    dialog.addEventListener("close", () => this.#close(false));
  }

  /**
   * Ask, and return whether the user confirms. Escape and the other button do not.
   * @param {Question} question
   * @returns {Promise<boolean>}
   */
  ask({ title, details, action, cancel = "Cancel", blocked = null }) {
    this.#close(false);
    find(this.#dialog, "h2").textContent = title;
    const reason = blocked ? element("p", { class: "blocked" }, blocked) : null;
    find(this.#dialog, ".details").replaceChildren(...element("div", {}, details, reason).childNodes);
    const button = findAs(this.#dialog, ".confirm", HTMLButtonElement);
    button.textContent = action;
    button.disabled = blocked !== null;
    find(this.#dialog, ".cancel").textContent = cancel;
    this.#dialog.showModal();
    return new Promise((resolve) => { this.#answer = resolve; });
  }

  /** Close the dialog without confirmation. */
  close() {
    this.#close(false);
  }

  /** @param {boolean} confirmed */
  #close(confirmed) {
    const answer = this.#answer;
    this.#answer = null;
    if (this.#dialog.open) this.#dialog.close();
    answer?.(confirmed);
  }
}
