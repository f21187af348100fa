/** The mail in a frame where nothing runs: at a width, and in emulated dark. */

import { emulateDarkMode } from "./dark-mode.js";

/** Stands before all else in the frame's document, so that nothing the mail says can come first. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src https: data:; form-action 'none'";
const HEAD =
  `<meta http-equiv="Content-Security-Policy" content="${POLICY}">` +
  '<meta name="referrer" content="no-referrer"><base target="_blank">';

/** A full inversion turns pictures too; clients turn those back. */
const RESTORE_IMAGES = "<style>img{filter:invert(1) hue-rotate(180deg)}</style>";

export class MailFrame {
  #frame;
  #html = "";
  #darkMode = "light";

  constructor(frame) {
    this.#frame = frame;
  }

  show(html) {
    if (html === this.#html) return;
    this.#html = html;
    this.#render();
  }

  set width(pixels) {
    this.#frame.style.width = `${pixels}px`;
  }

  /** "light", or how a client is dark: "none", "partial" or "full". */
  set darkMode(mode) {
    this.#darkMode = mode;
    this.#frame.dataset.dark = mode;
    this.#render();
  }

  #render() {
    const html = this.#darkMode === "partial" ? emulateDarkMode(this.#html) : this.#html;
    this.#frame.srcdoc = withPolicy(html, this.#darkMode === "full" ? RESTORE_IMAGES : "");
  }
}

function withPolicy(html, extraHead) {
  const [doctype] = html.match(/^\s*<!doctype[^>]*>/i) ?? [""];
  return `${doctype}${HEAD}${extraHead}${html.slice(doctype.length)}`;
}
