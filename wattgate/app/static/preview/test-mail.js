/** The dialog that sends what is written as a test mail, and tells what becomes of it. */

import { sendTest, testMail } from "./templates.js";

/** How often the gateway is asked what has become of a mail, and for how long. */
const PAUSE = 700;
const PATIENCE = 60_000;
const LAST = "wattgate.preview.tester";

export class TestMail {
  #dialog;
  #written;
  #sent = 0;

  /** `written` answers the token, and what is written as the input of a preview; null where it cannot be read. */
  constructor(dialog, written) {
    this.#dialog = dialog;
    this.#written = written;
    this.#one(".close").addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => { this.#sent += 1; });
    dialog.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send(this.#one("[name=address]").value.trim());
    });
  }

  open() {
    this.#one("[name=address]").value = localStorage.getItem(LAST) ?? "";
    this.#one(".status").hidden = true;
    this.#dialog.showModal();
  }

  close() {
    this.#dialog.close();
  }

  /** Send a mail, and follow it until it has left, was given up, or the dialog is closed. */
  async #send(address) {
    const mine = ++this.#sent;
    const { token, input } = this.#written();
    if (!input) {
      this.#tell("The sample data is not JSON", "bad");
      return;
    }
    this.#one(".send").disabled = true;
    this.#tell("Sending");
    try {
      const { testMailId } = (await sendTest(token, address, input)).testMail;
      localStorage.setItem(LAST, address);
      const until = Date.now() + PATIENCE;
      for (let ended = false; !ended && mine === this.#sent && Date.now() < until; ) {
        ended = this.#follow(await testMail(token, testMailId));
        if (!ended) await new Promise((resolve) => { setTimeout(resolve, PAUSE); });
      }
    } catch (error) {
      if (mine === this.#sent) this.#tell(error.unreachable ? "The gateway cannot be reached" : error.message, "bad");
    } finally {
      this.#one(".send").disabled = false;
    }
  }

  /** Tell how far a mail is; whether that is its end. */
  #follow({ state, reason, testMail: { address } }) {
    if (state === "SENT") this.#tell(`Sent to ${address}`, "good");
    else if (state === "FAILED") this.#tell(`Not sent: ${reason}`, "bad");
    else this.#tell(reason ? `Tried, and will be tried again: ${reason}` : "On its way");
    return state === "SENT" || state === "FAILED";
  }

  #tell(text, state = "busy") {
    const status = this.#one(".status");
    status.hidden = false;
    status.textContent = text;
    status.dataset.state = state;
  }

  #one(selector) {
    return this.#dialog.querySelector(selector);
  }
}
