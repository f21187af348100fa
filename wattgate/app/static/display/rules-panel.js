/** The alert rules of the user: switch one off, change its limit, remove it, or add a new one. */

import { element, find, findAllAs, findAs } from "../shared/dom.js";
import { addRule, changeRule, removeRule } from "./household-requests.js";
import { replaceItems } from "./list-items.js";
import { onceMore } from "./once-more.js";
import { RuleEditor } from "./rule-editor.js";
import { limitEntry, limitThreshold, ruleSentence } from "./rules.js";
import { text } from "./texts.js";

/** @import { Requester } from "./household.js" */
/** @import { HouseholdSettings } from "./household-requests.js" */
/** @import { AlertRule, NewAlertRule } from "./rules.js" */

/** The gateway's maximum for a user. */
const MAX_RULES = 100;

export class RulesPanel {
  /** @type {HTMLElement} */
  #panel;
  /** @type {Requester} */
  #requester;
  /** @type {RuleEditor} */
  #editor;
  /** @type {HouseholdSettings | null} */
  #settings = null;
  /** @type {string} */
  #notice = "";

  /**
   * @param {HTMLElement} panel
   * @param {Requester} requester
   */
  constructor(panel, requester) {
    this.#panel = panel;
    this.#requester = requester;
    this.#editor = new RuleEditor(findAs(panel, ".rule-form", HTMLFormElement), (input) => this.#add(input));
    this.clear();
  }

  clear() {
    this.#settings = null;
    this.#notice = text("rules.loading");
    this.draw();
  }

  /** @param {HouseholdSettings} settings */
  show(settings) {
    this.#settings = settings;
    this.#notice = "";
    this.draw();
  }

  fail() {
    this.#notice = text("rules.failed");
    this.draw();
  }

  draw() {
    const { rules = [] } = this.#settings ?? {};
    const list = find(this.#panel, ".rule-list");
    const typed = typedLimits(list);
    replaceItems(list, rules.map((rule) => this.#buildItem(rule, typed.get(rule.ruleId))), "rule");
    const isFull = rules.length >= MAX_RULES;
    const canAdd = this.#settings !== null && !isFull && this.#editor.offer(this.#settings);
    this.#editor.setHidden(!canAdd);
    find(this.#panel, ".panel-notice").textContent = this.#notice || this.#stateText(rules.length, isFull, canAdd);
  }

  /**
   * @param {number} count
   * @param {boolean} isFull
   * @param {boolean} canAdd
   */
  #stateText(count, isFull, canAdd) {
    if (this.#settings === null) return "";
    if (isFull) return text("rules.full", { count });
    if (!canAdd) return text("rules.withoutTypes");
    return count === 0 ? text("rules.none") : "";
  }

  /**
   * @param {AlertRule} rule
   * @param {string} [typed]  A limit that the user has typed and not saved.
   */
  #buildItem(rule, typed) {
    const meter = this.#settings?.meters.find(({ resourceId }) => resourceId === rule.resourceId);
    const sentence = meter ? ruleSentence(rule, meter.name) : "";
    const { quietFrom: start, quietTo: end } = rule;
    const item = element(
      "li",
      { class: "rule-item", "data-rule": rule.ruleId },
      element("h3", {}, rule.name),
      // A rule that this page has added is named by its sentence.
      sentence && sentence !== rule.name ? element("p", { class: "alert-body" }, sentence) : null,
      start && end ? element("p", { class: "alert-body" }, text("rules.quiet", { start, end })) : null,
      rule.active ? element("p", { class: "alert-body rule-state" }, text("rules.active")) : null,
      element("div", { class: "rule-controls" }, this.#buildSwitch(rule), this.#buildLimit(rule, typed), this.#buildRemoval(rule)),
    );
    item.classList.toggle("off", !rule.enabled);
    return item;
  }

  /** @param {AlertRule} rule */
  #buildSwitch(rule) {
    const input = element("input", { type: "checkbox", class: "rule-switch" });
    input.checked = rule.enabled;
    input.addEventListener("change", () => this.#change(rule, { enabled: input.checked }));
    return element("label", { class: "check" }, input, text("rules.on"));
  }

  /**
   * @param {AlertRule} rule
   * @param {string} [typed]
   */
  #buildLimit(rule, typed) {
    if (rule.threshold === null) return null;
    const { value, unit } = limitEntry(rule.threshold, rule.unit);
    const input = element("input", { type: "text", inputmode: "decimal", class: "rule-limit", autocomplete: "off" });
    input.defaultValue = value;
    if (typed !== undefined) input.value = typed;
    const label = unit ? text("rules.amount", { unit }) : text("rules.limit");
    const button = element("button", { type: "submit", class: "save-limit quiet-button" }, text("rules.save"));
    const form = element("form", { class: "limit-form" }, element("label", {}, `${label} `, input), button);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const threshold = limitThreshold(input.value, rule.unit);
      if (threshold !== null) this.#change(rule, { threshold });
      else this.#say(text("rules.noAmount"));
    });
    return form;
  }

  /** @param {AlertRule} rule */
  #buildRemoval(rule) {
    const button = element("button", { type: "button", class: "remove-rule quiet-button danger" }, text("rules.remove"));
    onceMore(button, text("rules.removeSure"), () => this.#remove(rule));
    return button;
  }

  /**
   * @param {AlertRule} rule
   * @param {{ enabled?: boolean, threshold?: string }} change
   */
  async #change(rule, change) {
    const { ruleId } = rule;
    const changed = await this.#requester.act(() => changeRule(this.#requester.token, ruleId, change));
    // The typed limit is stored now.
    if (changed && change.threshold) limitInputs(find(this.#panel, ".rule-list")).get(ruleId)?.form?.reset();
    this.#finish(changed, (rules, one) => rules.map((other) => (other.ruleId === one.ruleId ? one : other)));
  }

  /** @param {AlertRule} rule */
  async #remove(rule) {
    const { ruleId } = rule;
    const removed = await this.#requester.act(() => removeRule(this.#requester.token, ruleId).then(() => rule));
    this.#finish(removed, (rules) => rules.filter((other) => other.ruleId !== ruleId));
  }

  /** @param {NewAlertRule} input */
  async #add(input) {
    const added = await this.#requester.act(() => addRule(this.#requester.token, input));
    if (added) this.#editor.reset();
    this.#finish(added, (rules, one) => [...rules, one]);
  }

  /**
   * Show the rules after an action, or that it failed.
   * @param {AlertRule | null} result
   * @param {(rules: AlertRule[], result: AlertRule) => AlertRule[]} apply
   */
  #finish(result, apply) {
    if (result && this.#settings) this.#settings = { ...this.#settings, rules: apply(this.#settings.rules, result) };
    this.#say(result ? "" : text("inbox.actionFailed"));
    this.draw();
  }

  /** @param {string} notice */
  #say(notice) {
    this.#notice = notice;
    find(this.#panel, ".panel-notice").textContent = notice;
  }
}

/**
 * Return the inputs of the limits in a list of rules, by the IDs of the rules.
 * @param {HTMLElement} list
 * @returns {Map<string, HTMLInputElement>}
 */
function limitInputs(list) {
  const inputs = findAllAs(list, ".rule-limit", HTMLInputElement);
  return new Map(inputs.map((input) => [input.closest("li")?.dataset.rule ?? "", input]));
}

/**
 * Return the limits that the user has typed and not saved, by the IDs of the rules.
 * @param {HTMLElement} list
 * @returns {Map<string, string>}
 */
function typedLimits(list) {
  const changed = [...limitInputs(list)].filter(([, { value, defaultValue }]) => value !== defaultValue);
  return new Map(changed.map(([ruleId, { value }]) => [ruleId, value]));
}
