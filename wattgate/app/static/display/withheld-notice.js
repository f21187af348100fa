/** The notice about meters whose data is withheld, with the reason and the remedy. */

import { find, setText } from "../shared/dom.js";
import { text } from "./texts.js";

/** @import { Withheld } from "./subscription.js" */

export class WithheldNotice {
  /** @type {HTMLElement} */
  #notice;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#notice = find(root, ".withheld");
  }

  /**
   * Name the meters that a frame leaves out. Without any, hide the notice.
   * @param {Withheld[]} withheld
   */
  show(withheld) {
    this.#showText(withheldText(withheld));
  }

  /** Say that all data of the home is withheld. */
  showAll() {
    this.#showText(text("withheld.all"));
  }

  /** @param {string} words */
  #showText(words) {
    this.#notice.hidden = !words;
    setText(this.#notice, words);
  }
}

/**
 * Return the text about meters that are not shown, with the reason and the remedy. Empty if nothing is withheld.
 * @param {Withheld[]} withheld
 * @returns {string}
 */
export function withheldText(withheld) {
  return withheld
    .map(({ kind, meterPointNumber, reason }) => text(`withheld.${reason}`, { meter: nameOf(kind, meterPointNumber) }))
    .join(" ");
}

/**
 * @param {Withheld["kind"]} kind
 * @param {string | null} meterPointNumber
 */
function nameOf(kind, meterPointNumber) {
  const name = text(`withheld.${kind}`);
  return meterPointNumber ? text("withheld.meterPoint", { kind: name, meterPointNumber }) : name;
}
