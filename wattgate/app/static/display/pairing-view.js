/** The pairing screen: the code, its QR code, the time that is left, and what went wrong. */

import { find, findAll, findAs, prose, setText } from "../shared/dom.js";
import { spellCode } from "../shared/user-code.js";
import { formatCountdown } from "./format.js";
import { timeLeft } from "./pairing.js";
import { drawQrCode } from "./qr-code.js";
import { text } from "./texts.js";

/** @import { OpenCode, PairingState, Trouble } from "./pairing.js" */

export class PairingView {
  /** @type {HTMLElement} */
  #root;
  /** @type {PairingState | null} */
  #state = null;
  #reason = "";

  /**
   * @param {HTMLElement} root
   * @param {{ onNewCode: () => void, onLogIn: () => void }} handlers
   */
  constructor(root, { onNewCode, onLogIn }) {
    this.#root = root;
    this.#button("new-code").addEventListener("click", onNewCode);
    this.#button("to-login").addEventListener("click", onLogIn);
  }

  /**
   * Show or hide the screen.
   * @param {boolean} visible
   * @param {string} [reason]  Why this screen is no longer paired.
   */
  setVisible(visible, reason = "") {
    this.#root.hidden = !visible;
    this.#reason = reason;
    this.#state = null;
  }

  /** Move the focus to the heading. */
  focus() {
    find(this.#root, "h1").focus();
  }

  /**
   * Show a state of the pairing.
   * @param {PairingState} state
   * @param {number} time  Milliseconds since 1970.
   */
  show(state, time) {
    const previous = this.#state?.code;
    this.#state = state;
    this.#root.toggleAttribute("data-code", Boolean(state.code));
    for (const part of findAll(this.#root, ".of-code")) part.hidden = !state.code;
    this.#button("new-code").hidden = state.phase !== "denied" && state.phase !== "expired";
    if (state.code && state.code !== previous) this.#showCode(state.code);
    this.tick(time);
  }

  /**
   * Show the time that is left.
   * @param {number} time  Milliseconds since 1970.
   */
  tick(time) {
    const state = this.#state;
    if (!state) return;
    const left = state.code ? formatCountdown(timeLeft(state.code, time)) : "";
    this.#setText("remaining", state.code ? text("pairing.remaining", { time: left }) : "");
    this.#setText("pairing-reason", this.#reason);
    this.#setText("pairing-notice", noticeOf(state));
    this.#setText("pairing-wait", state.trouble ? waitOf(state.trouble, time) : "");
  }

  /** @param {OpenCode} code */
  #showCode({ started: { userCode, verificationUri, qrCode } }) {
    const address = verificationUri.replace(/^https?:\/\//, "");
    find(this.#root, ".pairing-how").replaceChildren(...prose(text("pairing.open", { address })));
    find(this.#root, ".qr-code").replaceChildren(drawQrCode(qrCode, text("pairing.square", { address })));
    this.#setText("code-shown", userCode);
    this.#setText("code-spelled", spellCode(userCode));
  }

  /**
   * @param {string} name
   * @param {string} words
   */
  #setText(name, words) {
    setText(find(this.#root, `.${name}`), words);
  }

  /** @param {string} name */
  #button(name) {
    return findAs(this.#root, `.${name}`, HTMLButtonElement);
  }
}

/** @param {PairingState} state */
function noticeOf({ phase, trouble }) {
  if (trouble?.kind === "offline") return text("pairing.offline");
  if (trouble?.kind === "limited") return text("pairing.limited");
  if (trouble) return text("pairing.unavailable");
  if (phase === "starting") return text("pairing.starting");
  if (phase === "denied") return text("pairing.denied");
  return phase === "expired" ? text("pairing.expired") : "";
}

/**
 * @param {Trouble} trouble
 * @param {number} time
 */
function waitOf({ kind, retryAt }, time) {
  return kind === "limited" ? text("pairing.nextAttempt", { time: formatCountdown(retryAt - time) }) : "";
}
