/** The form of a new alert rule. */

import { element, find, findAll, findAs } from "../shared/dom.js";
import { buildRule, entryUnit, ruleChoices } from "./rules.js";
import { capitalise, text } from "./texts.js";

/** @import { HouseholdSettings } from "./household-requests.js" */
/** @import { NewAlertRule, RuleChoice } from "./rules.js" */

export class RuleEditor {
  /** @type {HTMLFormElement} */
  #form;
  /** @type {HTMLSelectElement} */
  #select;
  /** @type {RuleChoice[]} */
  #choices = [];

  /**
   * @param {HTMLFormElement} form
   * @param {(input: NewAlertRule) => void} onAdd
   */
  constructor(form, onAdd) {
    this.#form = form;
    this.#select = findAs(form, '[name="choice"]', HTMLSelectElement);
    this.#select.addEventListener("change", () => this.#showFields());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const choice = this.#choice;
      const built = choice && buildRule(choice, this.#entries);
      if (!built) return;
      this.#say("problem" in built ? built.problem : "");
      if ("input" in built) onAdd(built.input);
    });
  }

  /**
   * Offer the rules that a home can have. Return whether there are any.
   * @param {HouseholdSettings} settings
   * @returns {boolean}
   */
  offer({ meters, alertTypes }) {
    const selected = this.#select.selectedIndex;
    this.#choices = ruleChoices(meters, alertTypes);
    const options = this.#choices.map(({ form, meter }) => text(`rules.${form}`, { meter: capitalise(meter.name) }));
    this.#select.replaceChildren(...options.map((label) => element("option", {}, label)));
    this.#select.selectedIndex = Math.max(0, Math.min(selected, options.length - 1));
    this.#showFields();
    return this.#choices.length > 0;
  }

  /** @param {boolean} hidden */
  setHidden(hidden) {
    this.#form.hidden = hidden;
  }

  /** Empty the amount for the next rule. */
  reset() {
    this.#amount.value = "";
    this.#say("");
  }

  #showFields() {
    const choice = this.#choice;
    if (!choice) return;
    const unit = entryUnit(choice);
    const isHours = choice.form === "silence";
    const label = isHours ? text("rules.amountHours") : unit ? text("rules.amount", { unit }) : text("rules.amountMoney");
    find(this.#form, ".amount-label").textContent = label;
    find(this.#form, ".period-field").hidden = choice.form !== "pace";
    this.#say("");
  }

  get #choice() {
    return this.#choices[this.#select.selectedIndex];
  }

  get #entries() {
    const channels = findAll(this.#form, '[name="channel"]:checked');
    return {
      amount: this.#amount.value,
      period: findAs(this.#form, '[name="period"]', HTMLSelectElement).value,
      channels: channels.map((input) => (input instanceof HTMLInputElement ? input.value : "")),
    };
  }

  get #amount() {
    return findAs(this.#form, '[name="amount"]', HTMLInputElement);
  }

  /** @param {string} problem */
  #say(problem) {
    find(this.#form, ".form-problem").textContent = problem;
    this.#amount.setAttribute("aria-invalid", String(problem !== ""));
  }
}
