/** A dialog that covers the page. It may borrow a panel of the page while it is open. */

import { find } from "../shared/dom.js";

export class PanelDialog {
  /** @type {HTMLDialogElement} */
  #dialog;
  /** @type {Comment | null} */
  #origin = null;
  /** @type {HTMLElement | null} */
  #panel;

  /**
   * @param {HTMLDialogElement} dialog
   * @param {HTMLElement | null} [panel]  Shown in the dialog while it is open, and in its own place otherwise.
   */
  constructor(dialog, panel = null) {
    this.#dialog = dialog;
    this.#panel = panel;
    find(dialog, ".close").addEventListener("click", () => this.close());
    // Only the backdrop is the dialog itself: its content fills it.
    dialog.addEventListener("click", ({ target }) => {
      if (target === dialog) this.close();
    });
    dialog.addEventListener("close", () => this.#returnPanel());
  }

  get isOpen() {
    return this.#dialog.open;
  }

  /** Show the dialog. The element that had the focus gets it back when the dialog closes. */
  open() {
    if (this.#dialog.open) return;
    if (this.#panel) {
      this.#origin = document.createComment("");
      this.#panel.replaceWith(this.#origin);
      find(this.#dialog, ".panel-body").append(this.#panel);
    }
    this.#dialog.showModal();
  }

  close() {
    if (this.#dialog.open) this.#dialog.close();
  }

  #returnPanel() {
    if (this.#panel) this.#origin?.replaceWith(this.#panel);
    this.#origin = null;
  }
}
