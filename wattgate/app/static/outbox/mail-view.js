/** One mail: its most important headers, and tabs for its HTML, text, headers and source. */

import { closestTo, element, find, findAll, findAs } from "../shared/dom.js";
import { MailFrame } from "../shared/mail-frame.js";
import { readHtml } from "./mails.js";

/** @import { DarkMode } from "../shared/mail-frame.js" */
/** @import { Mail } from "./mails.js" */

const PARTS = ["html", "text", "headers", "source"];
/** @type {Record<string, number | undefined>} */
const STEPS = { ArrowRight: 1, ArrowLeft: -1 };

export class MailView {
  /**
   * The path of the mail that is shown; null before the first one.
   * @type {string | null}
   */
  path = null;
  /** @type {HTMLElement} */
  #root;
  /** @type {(instant: string) => string} */
  #formatTime;
  /** @type {MailFrame} */
  #frame;
  #part = "html";

  /**
   * @param {HTMLElement} root
   * @param {(instant: string) => string} formatTime
   */
  constructor(root, formatTime) {
    this.#root = root;
    this.#formatTime = formatTime;
    this.#frame = new MailFrame(findAs(root, "#frame", HTMLIFrameElement));
    for (const control of findAll(root, "[name=width], [name=dark], [name=images]")) {
      control.addEventListener("change", () => this.#updateFrame());
    }
    this.#updateFrame();
    const tabs = this.#find("tabs");
    tabs.addEventListener("click", (event) => this.#onClick(event));
    tabs.addEventListener("keydown", (event) => this.#onKey(event));
  }

  /**
   * Show a mail. The selected tab stays, except the HTML tab if the mail has no HTML.
   * @param {string} path
   * @param {Mail} mail
   */
  show(path, mail) {
    this.path = path;
    this.#setText("subject", mail.subject || "(no subject)");
    this.#setText("to", mail.to);
    this.#setText("at", this.#formatTime(mail.at));
    findAs(this.#root, "#at", HTMLTimeElement).dateTime = mail.at;
    this.#setText("size", `${(mail.size / 1024).toFixed(1)} KB`);
    this.#setText("text", mail.text ?? "");
    this.#setText("source", mail.source);
    this.#find("headers").replaceChildren(...mail.headers.map(headerRow));
    this.#frame.show("");
    if (mail.html) this.#showHtml(path);
    this.#tab("html").disabled = !mail.html;
    this.#root.hidden = false;
    this.#openTab(mail.html || this.#part !== "html" ? this.#part : "text");
  }

  /** Show no mail. */
  hide() {
    this.path = null;
    this.#root.hidden = true;
  }

  /** @param {string} path */
  async #showHtml(path) {
    const html = await readHtml(path);
    if (this.path === path) this.#frame.show(html);
  }

  #updateFrame() {
    this.#frame.setWidth(findAs(this.#root, "[name=width]:checked", HTMLInputElement).value);
    this.#frame.setImages(findAs(this.#root, "[name=images]", HTMLInputElement).checked);
    const dark = findAs(this.#root, "[name=dark]", HTMLSelectElement).value;
    this.#frame.setDarkMode(/** @type {DarkMode} */ (dark));
  }

  /** @param {MouseEvent} event */
  #onClick(event) {
    const part = closestTo(event, "[role=tab]")?.dataset.part;
    if (part) this.#select(part);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const step = STEPS[event.key];
    const current = closestTo(event, "[role=tab]")?.dataset.part;
    if (!step || !current) return;
    const enabled = PARTS.filter((part) => !this.#tab(part).disabled);
    this.#select(enabled[(enabled.indexOf(current) + step + enabled.length) % enabled.length]);
    this.#tab(this.#part).focus();
  }

  /** @param {string} part */
  #select(part) {
    this.#part = part;
    this.#openTab(part);
  }

  /** @param {string} opened */
  #openTab(opened) {
    for (const part of PARTS) {
      const tab = this.#tab(part);
      tab.setAttribute("aria-selected", String(part === opened));
      tab.tabIndex = part === opened ? 0 : -1;
      this.#find(`panel-${part}`).hidden = part !== opened;
    }
  }

  /** @param {string} part */
  #tab(part) {
    return findAs(this.#root, `#tab-${part}`, HTMLButtonElement);
  }

  /**
   * @param {string} id
   * @param {string} text
   */
  #setText(id, text) {
    this.#find(id).textContent = text;
  }

  /** @param {string} id */
  #find(id) {
    return find(this.#root, `#${id}`);
  }
}

/** @param {[name: string, value: string]} header */
function headerRow([name, value]) {
  return element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, value));
}
