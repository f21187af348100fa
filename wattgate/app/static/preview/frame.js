/** The mail in a frame where nothing runs: at a width, and in emulated dark. */

import { darkened } from "./darkened.js";

/** Stands before all else in the frame's document, so that nothing the mail says can come first. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src https: data:; form-action 'none'";
const HEAD =
  `<meta http-equiv="Content-Security-Policy" content="${POLICY}">` +
  '<meta name="referrer" content="no-referrer"><base target="_blank">';

/** A full inversion turns pictures too; clients turn those back. */
const UPRIGHT = "<style>img{filter:invert(1) hue-rotate(180deg)}</style>";

export class Frame {
  #frame;
  #html = "";
  #dark = "light";

  constructor(frame) {
    this.#frame = frame;
  }

  show(html) {
    if (html === this.#html) return;
    this.#html = html;
    this.#draw();
  }

  set width(pixels) {
    this.#frame.style.width = `${pixels}px`;
  }

  /** "light", or how a client is dark: "none", "partial" or "full". */
  set dark(how) {
    this.#dark = how;
    this.#frame.dataset.dark = how;
    this.#draw();
  }

  #draw() {
    const html = this.#dark === "partial" ? darkened(this.#html) : this.#html;
    this.#frame.srcdoc = guarded(html, this.#dark === "full" ? UPRIGHT : "");
  }
}

function guarded(html, further) {
  const [doctype] = html.match(/^\s*<!doctype[^>]*>/i) ?? [""];
  return `${doctype}${HEAD}${further}${html.slice(doctype.length)}`;
}
