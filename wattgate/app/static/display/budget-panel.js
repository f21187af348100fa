/** The daily budget, and what the level of the display compares with. */

import { find, findAs } from "../shared/dom.js";
import { budgetEntries, preferencesOf, withEntries } from "./budget.js";
import { setPreferences } from "./household-requests.js";
import { text } from "./texts.js";

/** @import { Requester } from "./household.js" */

export class BudgetPanel {
  /** @type {HTMLElement} */
  #panel;
  /** @type {Requester} */
  #requester;
  /** @type {HTMLFormElement} */
  #form;
  /** @type {string | null} */
  #homeId = null;
  /** @type {Record<string, unknown>} */
  #attributes = {};

  /**
   * @param {HTMLElement} panel
   * @param {Requester} requester
   */
  constructor(panel, requester) {
    this.#panel = panel;
    this.#requester = requester;
    this.#form = findAs(panel, "form", HTMLFormElement);
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#save();
    });
    this.clear();
  }

  clear() {
    this.#homeId = null;
    this.#attributes = {};
    this.#form.hidden = true;
    this.#say(text("budget.loading"));
  }

  /**
   * @param {string} homeId
   * @param {Record<string, unknown>} attributes  Of the home.
   */
  show(homeId, attributes) {
    this.#homeId = homeId;
    this.#attributes = attributes;
    this.#form.hidden = false;
    const { budget, basis } = budgetEntries(preferencesOf(attributes));
    this.#budget.value = budget;
    this.#basis.value = basis;
    this.#say("");
  }

  /** Report that the budget could not be read. */
  fail() {
    if (this.#homeId === null) this.#say(text("budget.failed"));
  }

  /** Texts are in the document. Only the notice is written here, and it lasts for a moment. */
  draw() {
    if (this.#homeId !== null) this.#say("");
  }

  async #save() {
    const homeId = this.#homeId;
    if (homeId === null) return;
    const changed = withEntries(preferencesOf(this.#attributes), { budget: this.#budget.value, basis: this.#basis.value });
    if ("problem" in changed) {
      this.#say(changed.problem);
      return;
    }
    const send = () => setPreferences(this.#requester.token, homeId, changed.preferences);
    const attributes = await this.#requester.act(send);
    if (attributes) {
      this.show(homeId, attributes);
      this.#say(text("budget.saved"));
    } else this.#say(text("inbox.actionFailed"));
  }

  get #budget() {
    return findAs(this.#form, '[name="budget"]', HTMLInputElement);
  }

  get #basis() {
    return findAs(this.#form, '[name="basis"]', HTMLSelectElement);
  }

  /** @param {string} notice */
  #say(notice) {
    find(this.#panel, ".panel-notice").textContent = notice;
  }
}
