/** The dialog behind the bell: the inbox, the alert rules, the daily budget and the tenancies, one tab for each. */

import { find, findAll, findAs } from "../shared/dom.js";
import { pageAddress } from "../shared/page-address.js";
import { BudgetPanel } from "./budget-panel.js";
import { readInbox, readSettings, readTenancies } from "./household-requests.js";
import { InboxPanel } from "./inbox-panel.js";
import { onNotationChange } from "./notation.js";
import { PanelDialog } from "./panel-dialog.js";
import { RovingFocus } from "./roving-focus.js";
import { RulesPanel } from "./rules-panel.js";
import { TenancyPanel } from "./tenancy-panel.js";
import { text } from "./texts.js";

/** @import { WallClock } from "./format.js" */

/**
 * Sends requests for the panels. `read` repeats a failed request by calling `retry` later; `act` does not. Both return
 * null if the request failed, or if the session or the home has changed in the meantime. `onFailure` is called only in
 * the first case.
 * @typedef {object} Requester
 * @property {string} token
 * @property {<T>(name: string, send: () => Promise<T>, on: FailureHandlers) => Promise<T | null>} read
 * @property {<T>(send: () => Promise<T>) => Promise<T | null>} act
 */

/** @typedef {{ retry: () => void, onFailure: () => void }} FailureHandlers */

export class Household {
  /** @type {HTMLButtonElement} */
  #bell;
  /** @type {HTMLElement} */
  #root;
  /** @type {PanelDialog} */
  #dialog;
  /** @type {Requester} */
  #requester;
  /** @type {InboxPanel} */
  #inbox;
  /** @type {RulesPanel} */
  #rules;
  /** @type {BudgetPanel} */
  #budget;
  /** @type {TenancyPanel} */
  #tenancy;
  /** @type {string | null} */
  #homeId = null;
  #unread = 0;
  #isOffered = false;

  /**
   * @param {HTMLButtonElement} bell
   * @param {HTMLDialogElement} dialog
   * @param {Requester} requester
   */
  constructor(bell, dialog, requester) {
    this.#bell = bell;
    this.#root = dialog;
    this.#dialog = new PanelDialog(dialog);
    this.#requester = requester;
    this.#inbox = new InboxPanel(find(dialog, ".inbox"), requester, (before) => this.#readInbox(before));
    this.#rules = new RulesPanel(find(dialog, ".rules"), requester);
    this.#budget = new BudgetPanel(find(dialog, ".budget"), requester);
    this.#tenancy = new TenancyPanel(find(dialog, ".tenancy"));
    bell.addEventListener("click", () => this.#open());
    const tabs = new RovingFocus(find(dialog, ".tabs"));
    for (const tab of tabs.elements) tab.addEventListener("click", () => this.#select(tab.dataset.panel ?? ""));
    // The selected tab follows the focus, as the arrow keys move it.
    find(dialog, ".tabs").addEventListener("focusin", ({ target }) => {
      if (target instanceof HTMLElement && target.dataset.panel) this.#select(target.dataset.panel);
    });
    onNotationChange(() => this.#draw());
  }

  /**
   * Prepare for a home of a session. A paired display has none of the panels.
   * @param {string} homeId
   * @param {WallClock} wallClock
   * @param {boolean} isOffered
   */
  setHome(homeId, wallClock, isOffered) {
    this.clear();
    this.#homeId = homeId;
    this.#isOffered = isOffered;
    find(this.#root, ".your-data").setAttribute("href", pageAddress("/your-data"));
    this.#inbox.setWallClock(wallClock);
    this.#tenancy.setWallClock(wallClock);
    this.#drawBell();
  }

  /** Close the dialog and forget everything. */
  clear() {
    this.#dialog.close();
    this.#homeId = null;
    this.#unread = 0;
    this.#isOffered = false;
    for (const panel of [this.#inbox, this.#rules, this.#budget, this.#tenancy]) panel.clear();
    this.#drawBell();
  }

  /**
   * Show how many alerts are unread. If the open inbox knows another number, it is read again.
   * @param {number} count
   */
  showUnread(count) {
    if (count === this.#unread) return;
    this.#unread = count;
    this.#drawBell();
    if (this.#dialog.isOpen && count !== this.#inbox.unread) this.#readInbox(null);
  }

  #open() {
    if (!this.#isOffered) return;
    this.#select("inbox");
    this.#dialog.open();
    this.#readInbox(null);
    this.#readSettings();
    this.#readTenancies();
  }

  /** @param {string | null} before  The cursor of older alerts. Null for the newest. */
  async #readInbox(before) {
    const read = () => readInbox(this.#requester.token, before);
    const page = await this.#requester.read("inbox", read, {
      retry: () => this.#retry(() => this.#readInbox(before)),
      onFailure: () => this.#inbox.fail(),
    });
    if (page) this.#inbox.show(page, before === null);
  }

  async #readSettings() {
    const homeId = this.#homeId;
    if (homeId === null) return;
    const read = () => readSettings(this.#requester.token, homeId);
    const settings = await this.#requester.read("settings", read, {
      retry: () => this.#retry(() => this.#readSettings()),
      onFailure: () => {
        this.#rules.fail();
        this.#budget.fail();
      },
    });
    if (!settings) return;
    this.#rules.show(settings);
    this.#budget.show(homeId, settings.attributes);
  }

  async #readTenancies() {
    const read = () => readTenancies(this.#requester.token);
    const tenancies = await this.#requester.read("tenancies", read, {
      retry: () => this.#retry(() => this.#readTenancies()),
      onFailure: () => this.#tenancy.fail(),
    });
    if (tenancies) this.#tenancy.show(tenancies);
  }

  /** @param {() => void} read */
  #retry(read) {
    if (this.#dialog.isOpen) read();
  }

  /** @param {string} name */
  #select(name) {
    for (const tab of findAll(this.#root, ".tabs > button")) {
      const isSelected = tab.dataset.panel === name;
      tab.setAttribute("aria-selected", String(isSelected));
      tab.tabIndex = isSelected ? 0 : -1;
      findAs(this.#root, `.${tab.dataset.panel}`, HTMLElement).hidden = !isSelected;
    }
  }

  #draw() {
    this.#drawBell();
    for (const panel of [this.#inbox, this.#rules, this.#budget, this.#tenancy]) panel.draw();
  }

  #drawBell() {
    const count = this.#unread;
    this.#bell.hidden = !this.#isOffered;
    this.#bell.classList.toggle("has-unread", count > 0);
    find(this.#bell, ".count").textContent = count === 0 ? "" : count > 99 ? "99+" : String(count);
    this.#bell.setAttribute("aria-label", text("inbox.open", { count }));
  }
}
