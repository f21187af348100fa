/** One mail: its header lines, and tabs for its HTML, text, headers and source. */

import { element } from "../shared/dom.js";

const PARTS = ["html", "text", "headers", "source"];
const STEPS = { ArrowRight: 1, ArrowLeft: -1 };

export class MailView {
  /** Path of the mail that is shown; null before the first one. */
  path = null;
  #root;
  #formatTime;
  #part = "html";

  constructor(root, formatTime) {
    this.#root = root;
    this.#formatTime = formatTime;
    const tabs = this.#find("tabs");
    tabs.addEventListener("click", ({ target }) => this.#clicked(target));
    tabs.addEventListener("keydown", ({ key, target }) => this.#pressed(key, target));
  }

  /** Show a mail. The chosen tab stays, unless it is the HTML and the mail has none. */
  show(path, mail) {
    this.path = path;
    this.#setText("subject", mail.subject || "(no subject)");
    this.#setText("to", mail.to);
    this.#setText("at", this.#formatTime(mail.at));
    this.#find("at").dateTime = mail.at;
    this.#setText("size", `${(mail.size / 1024).toFixed(1)} KB`);
    this.#setText("text", mail.text ?? "");
    this.#setText("source", mail.source);
    this.#find("headers").replaceChildren(...mail.headers.map(headerRow));
    this.#find("frame").src = mail.html ? `${path}/html` : "about:blank";
    this.#find("tab-html").disabled = !mail.html;
    this.#root.hidden = false;
    this.#openTab(mail.html || this.#part !== "html" ? this.#part : "text");
  }

  #clicked(target) {
    if (target.dataset.part) this.#choosePart(target.dataset.part);
  }

  #pressed(key, target) {
    const step = STEPS[key];
    if (!step) return;
    const enabled = PARTS.filter((part) => !this.#find(`tab-${part}`).disabled);
    this.#choosePart(enabled[(enabled.indexOf(target.dataset.part) + step + enabled.length) % enabled.length]);
    this.#find(`tab-${this.#part}`).focus();
  }

  #choosePart(part) {
    this.#part = part;
    this.#openTab(part);
  }

  #openTab(opened) {
    for (const part of PARTS) {
      const tab = this.#find(`tab-${part}`);
      tab.setAttribute("aria-selected", String(part === opened));
      tab.tabIndex = part === opened ? 0 : -1;
      this.#find(`panel-${part}`).hidden = part !== opened;
    }
  }

  #setText(id, text) {
    this.#find(id).textContent = text;
  }

  #find(id) {
    return this.#root.querySelector(`#${id}`);
  }
}

function headerRow([name, value]) {
  return element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, value));
}
