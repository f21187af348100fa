/** The notice about meters whose data is withheld, with the reason and the remedy. */

import { find } from "../shared/dom.js";

/** @import { Withheld, WithheldReason } from "./subscription.js" */

/** @type {Record<Withheld["kind"], string>} */
const KINDS = { ELECTRICITY: "Electricity", EXPORTED: "Exported electricity", GAS: "Gas" };

/** @type {Record<WithheldReason, string>} */
const REASONS = {
  REVOKED: "consent was revoked. To show it again, renew the consent in your app.",
  EXPIRED: "consent has expired. To show it again, renew the consent in your app.",
  MISSING: "no consent is recorded. Ask the provider of your app to record it.",
};

const ALL_WITHHELD = "The data of this home is withheld, because there is no valid consent. Renew the consent in your app.";

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
    this.#setText(withheldText(withheld));
  }

  /** Say that all data of the home is withheld. */
  showAll() {
    this.#setText(ALL_WITHHELD);
  }

  /** @param {string} text */
  #setText(text) {
    this.#notice.hidden = !text;
    if (this.#notice.textContent !== text) this.#notice.textContent = text;
  }
}

/**
 * Return the text about meters that are not shown, with the reason and the remedy. Empty if nothing is withheld.
 * @param {Withheld[]} withheld
 * @returns {string}
 */
export function withheldText(withheld) {
  return withheld.map(({ kind, mpxn, reason }) => `${nameOf(kind, mpxn)} is not shown: ${REASONS[reason]}`).join(" ");
}

/**
 * @param {Withheld["kind"]} kind
 * @param {string | null} mpxn
 */
function nameOf(kind, mpxn) {
  return mpxn ? `${KINDS[kind]} (meter point ${mpxn})` : KINDS[kind];
}
