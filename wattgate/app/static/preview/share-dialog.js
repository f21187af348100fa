/** The dialog that creates a link to the preview of a version, which works without a log-in until it expires. */

import { copyText } from "../shared/clipboard.js";
import { formatTime } from "../shared/date-format.js";
import { find, findAs } from "../shared/dom.js";
import { toGatewayError } from "../shared/gateway.js";
import { sharePreview } from "./templates.js";

/** @typedef {{ token: string, templateId: string, version: number, isChanged: boolean }} ShareTarget */

export class ShareDialog {
  /** @type {HTMLDialogElement} */
  #dialog;
  /** @type {ShareTarget | null} */
  #target = null;

  /** @param {HTMLDialogElement} dialog */
  constructor(dialog) {
    this.#dialog = dialog;
    find(dialog, ".close").addEventListener("click", () => dialog.close());
    find(dialog, ".copy").addEventListener("click", () => this.#copy());
    find(dialog, "form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#create();
    });
  }

  /** @param {ShareTarget} target */
  open(target) {
    this.#target = target;
    find(this.#dialog, ".shared-version").textContent = target.isChanged
      ? `The link shows version ${target.version} as it is saved. Save your changes first to share them.`
      : `The link shows version ${target.version} with sample data. Later versions do not change it.`;
    find(this.#dialog, ".link").hidden = true;
    this.#showStatus("");
    this.#dialog.showModal();
  }

  close() {
    this.#dialog.close();
  }

  async #create() {
    if (!this.#target) return;
    const { token, templateId, version } = this.#target;
    const button = findAs(this.#dialog, ".create", HTMLButtonElement);
    const hours = Number(findAs(this.#dialog, "[name=hours]", HTMLSelectElement).value);
    button.disabled = true;
    try {
      const { previewUrl, expiresAt } = await sharePreview(token, templateId, version, hours);
      find(this.#dialog, ".link").hidden = false;
      this.#address.value = previewUrl;
      this.#address.select();
      this.#showStatus(`Everybody who has the link sees the preview until ${formatTime(expiresAt)}.`, "good");
    } catch (thrown) {
      this.#showStatus(toGatewayError(thrown).message, "bad");
    } finally {
      button.disabled = false;
    }
  }

  async #copy() {
    this.#address.select();
    if (await copyText(this.#address.value)) this.#showStatus("The link is copied", "good");
    else this.#showStatus("Copy the selected link");
  }

  get #address() {
    return findAs(this.#dialog, "[name=address]", HTMLInputElement);
  }

  /**
   * @param {string} text
   * @param {"busy" | "good" | "bad"} state
   */
  #showStatus(text, state = "busy") {
    const status = find(this.#dialog, ".status");
    status.hidden = !text;
    status.textContent = text;
    status.dataset.state = state;
  }
}
