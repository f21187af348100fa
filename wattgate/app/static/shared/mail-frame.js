/** Shows a mail in a frame that runs no scripts, at a chosen width and in emulated dark mode. */

import { emulateDarkMode } from "./dark-mode.js";

/** @typedef {"light" | "none" | "partial" | "full"} DarkMode */

/** The policy comes first in the frame's document, so that the mail cannot place anything before it. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src https: data:; form-action 'none'";
const HEAD =
  `<meta http-equiv="Content-Security-Policy" content="${POLICY}">` +
  '<meta name="referrer" content="no-referrer"><base target="_blank">';

/** A full inversion also inverts images. Mail clients invert those a second time. */
const RESTORE_IMAGES = "<style>img{filter:invert(1) hue-rotate(180deg)}</style>";

export class MailFrame {
  /** @type {HTMLIFrameElement} */
  #frame;
  #html = "";
  /** The document of the frame. It is loaded once the frame is displayed. */
  #document = "";
  /** @type {DarkMode} */
  #darkMode = "light";

  /** @param {HTMLIFrameElement} frame */
  constructor(frame) {
    this.#frame = frame;
    new ResizeObserver(() => this.#load()).observe(frame);
  }

  /**
   * Show a mail.
   * @param {string} html
   */
  show(html) {
    if (html === this.#html) return;
    this.#html = html;
    this.#render();
  }

  /**
   * Set the width.
   * @param {string} pixels  Empty for the whole space.
   */
  setWidth(pixels) {
    this.#frame.style.width = pixels ? `${pixels}px` : "";
    this.#frame.parentElement?.classList.toggle("full-width", !pixels);
  }

  /**
   * Set how the emulated client changes the mail: "light" for a light client, or what a dark one inverts.
   * @param {DarkMode} mode
   */
  setDarkMode(mode) {
    this.#darkMode = mode;
    this.#frame.dataset.dark = mode;
    this.#render();
  }

  #render() {
    const html = this.#darkMode === "partial" ? emulateDarkMode(this.#html) : this.#html;
    this.#document = withPolicy(html, this.#darkMode === "full" ? RESTORE_IMAGES : "");
    this.#load();
  }

  /**
   * Load the document if the frame is displayed and has had a mail. Chromium can leave a frame blank whose document is
   * replaced while the frame is not displayed, or while it loads its first document.
   */
  #load() {
    const isDisplayed = this.#frame.getClientRects().length > 0;
    const isNeeded = this.#html !== "" || this.#frame.srcdoc !== "";
    if (isDisplayed && isNeeded && this.#frame.srcdoc !== this.#document) this.#frame.srcdoc = this.#document;
  }
}

/**
 * @param {string} html
 * @param {string} extraHead
 */
function withPolicy(html, extraHead) {
  const [doctype] = html.match(/^\s*<!doctype[^>]*>/i) ?? [""];
  return `${doctype}${HEAD}${extraHead}${html.slice(doctype.length)}`;
}
