/** The dialog that sends the preview as a test mail and shows the state of its delivery. */

import { find, findAs } from "../shared/dom.js";
import { toGatewayError } from "../shared/gateway.js";
import { sendTestMail, testMailStatus } from "./templates.js";

/** @import { PreviewInput, TestMailStatus } from "./templates.js" */

/** Milliseconds between two requests for the state of the delivery, and how long it is requested. */
const POLL_INTERVAL = 700;
const POLL_TIMEOUT = 60_000;
const ADDRESS_KEY = "wattgate.preview.tester";

export class TestMailDialog {
  /** @type {HTMLDialogElement} */
  #dialog;
  /** @type {() => { token: string, input: PreviewInput | null }} */
  #getRequest;
  #sendNumber = 0;

  /**
   * @param {HTMLDialogElement} dialog
   * @param {() => { token: string, input: PreviewInput | null }} getRequest
   *   Returns the token and what to send. The input is null if the sample data is not valid.
   */
  constructor(dialog, getRequest) {
    this.#dialog = dialog;
    this.#getRequest = getRequest;
    find(dialog, ".close").addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => { this.#sendNumber += 1; });
    find(dialog, "form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send(this.#address.value.trim());
    });
  }

  /** Open the dialog with the address of the last test mail. */
  open() {
    this.#address.value = localStorage.getItem(ADDRESS_KEY) ?? "";
    find(this.#dialog, ".status").hidden = true;
    this.#dialog.showModal();
  }

  /** Close the dialog. A mail that is on its way is still delivered. */
  close() {
    this.#dialog.close();
  }

  get #address() {
    return findAs(this.#dialog, "[name=address]", HTMLInputElement);
  }

  /**
   * Send a mail and show its state until it is delivered, has failed or the dialog is closed.
   * @param {string} address
   */
  async #send(address) {
    const sendNumber = ++this.#sendNumber;
    const { token, input } = this.#getRequest();
    if (!input) {
      this.#showStatus("The sample data is not JSON", "bad");
      return;
    }
    const button = findAs(this.#dialog, ".send", HTMLButtonElement);
    button.disabled = true;
    this.#showStatus("Sending");
    try {
      const testMailId = await sendTestMail(token, address, input);
      localStorage.setItem(ADDRESS_KEY, address);
      const deadline = Date.now() + POLL_TIMEOUT;
      for (let ended = false; !ended && sendNumber === this.#sendNumber && Date.now() < deadline; ) {
        ended = this.#showProgress(await testMailStatus(token, testMailId));
        if (!ended) await new Promise((resolve) => { setTimeout(resolve, POLL_INTERVAL); });
      }
    } catch (thrown) {
      const error = toGatewayError(thrown);
      const message = error.unreachable ? "The gateway cannot be reached" : error.message;
      if (sendNumber === this.#sendNumber) this.#showStatus(message, "bad");
    } finally {
      button.disabled = false;
    }
  }

  /**
   * Show the state of the delivery. Return whether it has ended.
   * @param {TestMailStatus} status
   */
  #showProgress({ state, reason, testMail: { address } }) {
    if (state === "SENT") this.#showStatus(`Sent to ${address}`, "good");
    else if (state === "FAILED") this.#showStatus(`Not sent: ${reason}`, "bad");
    else this.#showStatus(reason ? `Delivery failed, will retry: ${reason}` : "Waiting for delivery");
    return state === "SENT" || state === "FAILED";
  }

  /**
   * @param {string} text
   * @param {"busy" | "good" | "bad"} state
   */
  #showStatus(text, state = "busy") {
    const status = find(this.#dialog, ".status");
    status.hidden = false;
    status.textContent = text;
    status.dataset.state = state;
  }
}
