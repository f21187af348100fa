/** The inbox: alerts with their texts and times, newest first. Unread ones can be marked as read. */

import { now } from "../shared/clock.js";
import { element, find, findAs } from "../shared/dom.js";
import { WallClock } from "./format.js";
import { markRead } from "./household-requests.js";
import { describeAlert, mergePage, withRead } from "./inbox.js";
import { replaceItems } from "./list-items.js";
import { text } from "./texts.js";

/** @import { Requester } from "./household.js" */
/** @import { InboxPage } from "./household-requests.js" */
/** @import { Inbox, ReceivedAlert } from "./inbox.js" */

export class InboxPanel {
  /** @type {HTMLElement} */
  #panel;
  /** @type {Requester} */
  #requester;
  /** @type {(before: string | null) => void} */
  #request;
  /** @type {Inbox | null} */
  #inbox = null;
  #wallClock = new WallClock();
  /** @type {"loading" | "failed" | "actionFailed" | null} */
  #notice = "loading";

  /**
   * @param {HTMLElement} panel
   * @param {Requester} requester
   * @param {(before: string | null) => void} request  Called to read older alerts. Pass them to `show`.
   */
  constructor(panel, requester, request) {
    this.#panel = panel;
    this.#requester = requester;
    this.#request = request;
    this.#button("mark-all").addEventListener("click", () => this.#mark(null));
    this.#button("older").addEventListener("click", () => {
      if (this.#inbox?.before) this.#request(this.#inbox.before);
    });
  }

  /** How many alerts are unread, as far as the panel knows. Null before the first page. */
  get unread() {
    return this.#inbox?.unread ?? null;
  }

  /** @param {WallClock} wallClock */
  setWallClock(wallClock) {
    this.#wallClock = wallClock;
  }

  clear() {
    this.#inbox = null;
    this.#notice = "loading";
    this.draw();
  }

  /**
   * @param {InboxPage} page
   * @param {boolean} isNewest
   */
  show(page, isNewest) {
    this.#inbox = mergePage(this.#inbox, page, isNewest);
    this.#notice = null;
    this.draw();
  }

  /** Report that alerts could not be read. Alerts that are shown stay. */
  fail() {
    this.#notice = "failed";
    this.draw();
  }

  draw() {
    const { alerts = [], unread = 0, before = null } = this.#inbox ?? {};
    replaceItems(find(this.#panel, ".inbox-list"), alerts.map((alert) => this.#buildItem(alert)), "alert");
    this.#button("older").hidden = before === null;
    this.#button("mark-all").hidden = unread === 0;
    const summary = unread === 0 ? text("inbox.allRead") : text("inbox.unread", { count: unread });
    find(this.#panel, ".inbox-summary").textContent = alerts.length ? summary : "";
    const isEmpty = this.#inbox !== null && alerts.length === 0;
    const notice = this.#notice ? text(`inbox.${this.#notice}`) : isEmpty ? text("inbox.none") : "";
    find(this.#panel, ".panel-notice").textContent = notice;
  }

  /** @param {ReceivedAlert} alert */
  #buildItem(alert) {
    const { title, body } = describeAlert(alert);
    const isUnread = alert.readAt === null;
    const time = this.#wallClock.moment(Date.parse(alert.createdAt), now());
    const marks = [
      isUnread ? element("span", { class: "badge unread-badge" }, text("inbox.new")) : null,
      alert.priority === "HIGH" ? element("span", { class: "badge" }, text("inbox.urgent")) : null,
    ];
    const button = element("button", { type: "button", class: "mark-read quiet-button" }, text("inbox.markRead"));
    button.addEventListener("click", () => this.#mark([alert.alertId]));
    const item = element(
      "li",
      { class: "alert-item", "data-alert": alert.alertId },
      element("h3", {}, title),
      element("p", { class: "alert-meta" }, marks, element("time", { datetime: alert.createdAt }, time)),
      body ? element("p", { class: "alert-body" }, body) : null,
      isUnread ? button : null,
    );
    item.classList.toggle("unread", isUnread);
    return item;
  }

  /** @param {string[] | null} alertIds  Null for all. */
  async #mark(alertIds) {
    // The button that was pressed disappears: the list gets the focus.
    find(this.#panel, ".inbox-list").focus();
    const unread = await this.#requester.act(() => markRead(this.#requester.token, alertIds));
    if (unread === null) this.#notice = "actionFailed";
    else if (this.#inbox) {
      this.#inbox = withRead(this.#inbox, alertIds, unread, new Date(now()).toISOString());
      this.#notice = null;
    }
    this.draw();
  }

  /** @param {string} name */
  #button(name) {
    return findAs(this.#panel, `.${name}`, HTMLButtonElement);
  }
}
