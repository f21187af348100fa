/** The list of mails: one link for each, which leads to the mail by the fragment of the address. */

import { element } from "../shared/dom.js";

export class MailList {
  #root;
  #formatTime;
  #shown = "";

  constructor(root, formatTime) {
    this.#root = root;
    this.#formatTime = formatTime;
  }

  /** Show these mails. Return whether they differ from those shown before. */
  show(mails) {
    const content = JSON.stringify(mails);
    if (content === this.#shown) return false;
    this.#shown = content;
    this.#root.replaceChildren(...mails.map((mail) => this.#item(mail)));
    return true;
  }

  /** Mark the link to the mail at this path as the current one. */
  markCurrent(path) {
    for (const link of this.#root.querySelectorAll("a")) {
      if (path !== null && link.hash === `#${path}`) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  #item({ path, subject, to, at }) {
    return element(
      "li",
      {},
      element(
        "a",
        { href: `#${path}`, "data-testid": "mail" },
        element("span", { class: "subject" }, subject || "(no subject)"),
        element("span", { class: "to" }, to),
        element("span", { class: "at" }, this.#formatTime(at)),
      ),
    );
  }
}
