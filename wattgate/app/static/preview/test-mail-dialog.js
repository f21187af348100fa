/** The dialog that sends what is written as a test mail, and tells what becomes of it. */

import { sendTestMail, testMailStatus } from "./templates.js";

/** How often the gateway is asked what has become of a mail, and for how long. */
const POLL_INTERVAL = 700;
const POLL_TIMEOUT = 60_000;
const LAST_ADDRESS_KEY = "wattgate.preview.tester";

export class TestMailDialog {
  #dialog;
  #getRequest;
  #sendNumber = 0;

  /** `getRequest` returns the token, and what is written as the input of a preview; null where it cannot be read. */
  constructor(dialog, getRequest) {
    this.#dialog = dialog;
    this.#getRequest = getRequest;
    this.#find(".close").addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => { this.#sendNumber += 1; });
    dialog.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send(this.#find("[name=address]").value.trim());
    });
  }

  open() {
    this.#find("[name=address]").value = localStorage.getItem(LAST_ADDRESS_KEY) ?? "";
    this.#find(".status").hidden = true;
    this.#dialog.showModal();
  }

  close() {
    this.#dialog.close();
  }

  /** Send a mail, and follow it until it has left, was given up, or the dialog is closed. */
  async #send(address) {
    const sendNumber = ++this.#sendNumber;
    const { token, input } = this.#getRequest();
    if (!input) {
      this.#showStatus("The sample data is not JSON", "bad");
      return;
    }
    this.#find(".send").disabled = true;
    this.#showStatus("Sending");
    try {
      const { testMailId } = (await sendTestMail(token, address, input)).testMail;
      localStorage.setItem(LAST_ADDRESS_KEY, address);
      const deadline = Date.now() + POLL_TIMEOUT;
      for (let ended = false; !ended && sendNumber === this.#sendNumber && Date.now() < deadline; ) {
        ended = this.#showProgress(await testMailStatus(token, testMailId));
        if (!ended) await new Promise((resolve) => { setTimeout(resolve, POLL_INTERVAL); });
      }
    } catch (error) {
      if (sendNumber === this.#sendNumber) this.#showStatus(error.unreachable ? "The gateway cannot be reached" : error.message, "bad");
    } finally {
      this.#find(".send").disabled = false;
    }
  }

  /** Tell how far a mail is; whether that is its end. */
  #showProgress({ state, reason, testMail: { address } }) {
    if (state === "SENT") this.#showStatus(`Sent to ${address}`, "good");
    else if (state === "FAILED") this.#showStatus(`Not sent: ${reason}`, "bad");
    else this.#showStatus(reason ? `Tried, and will be tried again: ${reason}` : "On its way");
    return state === "SENT" || state === "FAILED";
  }

  #showStatus(text, state = "busy") {
    const status = this.#find(".status");
    status.hidden = false;
    status.textContent = text;
    status.dataset.state = state;
  }

  #find(selector) {
    return this.#dialog.querySelector(selector);
  }
}
