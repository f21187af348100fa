/** Shows a mail in a frame that runs no scripts, at a chosen width and in emulated dark mode. */

import { emulateColorScheme } from "./color-scheme.js";
import { emulateDarkMode } from "./dark-mode.js";
import { removeImages } from "./without-images.js";

/** @import { ColorScheme } from "./color-scheme.js" */

/** @typedef {"light" | "none" | "partial" | "full"} DarkMode */

/**
 * The colour scheme that the client of each mode states to the mail. Clients that invert everything state none: their
 * mails see the light one.
 * @type {Record<DarkMode, ColorScheme>}
 */
const SCHEMES = { light: "light", none: "dark", partial: "dark", full: "light" };

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
  /** @type {DarkMode} */
  #darkMode = "light";
  #hasImages = true;

  /** @param {HTMLIFrameElement} frame */
  constructor(frame) {
    this.#frame = frame;
    new ResizeObserver(() => this.#render()).observe(frame);
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

  /**
   * Set whether the mail has its images. Many clients load them only if the reader asks for them.
   * @param {boolean} hasImages
   */
  setImages(hasImages) {
    this.#hasImages = hasImages;
    this.#render();
  }

  /**
   * Load the document of the mail. A hidden frame waits until it is displayed, and no frame loads an empty document before
   * its first mail. In both cases, Chromium sometimes leaves the frame blank after the next document.
   */
  #render() {
    const isHidden = this.#frame.getClientRects().length === 0;
    const isUnused = !this.#html && !this.#frame.srcdoc;
    if (isHidden || isUnused) return;
    const shown = this.#hasImages ? this.#html : removeImages(this.#html);
    const mail = emulateColorScheme(shown, SCHEMES[this.#darkMode]);
    const html = this.#darkMode === "partial" ? emulateDarkMode(mail) : mail;
    const content = withPolicy(html, this.#darkMode === "full" ? RESTORE_IMAGES : "");
    if (this.#frame.srcdoc !== content) this.#frame.srcdoc = content;
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
