/** The list of mails. Each mail is a link with the path of the mail as its fragment. */

import { element, findAllAs } from "../shared/dom.js";

/** @import { MailSummary } from "./mails.js" */

export class MailList {
  /** @type {HTMLElement} */
  #root;
  /** @type {(instant: string) => string} */
  #formatTime;
  #shown = "";

  /**
   * @param {HTMLElement} root
   * @param {(instant: string) => string} formatTime
   */
  constructor(root, formatTime) {
    this.#root = root;
    this.#formatTime = formatTime;
  }

  /**
   * Show these mails. Return whether they differ from those that were shown.
   * @param {MailSummary[]} mails
   * @returns {boolean}
   */
  show(mails) {
    const content = JSON.stringify(mails);
    if (content === this.#shown) return false;
    this.#shown = content;
    this.#root.replaceChildren(...mails.map((mail) => this.#item(mail)));
    return true;
  }

  /**
   * Mark the link to the mail at this path as the current one.
   * @param {string | null} path  Null if no mail is shown.
   */
  markCurrent(path) {
    for (const link of findAllAs(this.#root, "a", HTMLAnchorElement)) {
      if (path !== null && link.hash === `#${path}`) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  /** @param {MailSummary} mail */
  #item({ path, subject, to, at }) {
    return element(
      "li",
      {},
      element(
        "a",
        { href: `#${path}`, "data-testid": "mail" },
        element("span", { class: "subject", dir: "auto" }, subject || "(no subject)"),
        element("span", { class: "to" }, to),
        element("span", { class: "at" }, this.#formatTime(at)),
      ),
    );
  }
}
