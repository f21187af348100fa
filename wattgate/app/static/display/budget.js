/** The daily budget and the basis of the level: preferences in the attributes of a home. */

import { formatEntry } from "./format.js";
import { checkedAmount, parseAmount } from "./rules.js";
import { text } from "./texts.js";

/**
 * The preferences of a home's display. Members that this page does not know are kept.
 * @typedef {Record<string, unknown> & { dailyBudget?: string | number, ambientBasis?: string }} DisplayPreferences
 */

/** The bases that a level can have. Without one, the gateway chooses. */
export const BASES = /** @type {const} */ (["LEARNED", "BUDGET", "PRICE"]);

/**
 * Return the preferences in a home's attributes.
 * @param {Record<string, unknown>} attributes
 * @returns {DisplayPreferences}
 */
export function preferencesOf({ display }) {
  const isObject = typeof display === "object" && display !== null && !Array.isArray(display);
  return isObject ? /** @type {DisplayPreferences} */ (display) : {};
}

/**
 * Return what the form shows. A value that is not valid counts as none, as it does for the gateway.
 * @param {DisplayPreferences} preferences
 * @returns {{ budget: string, basis: string }}
 */
export function budgetEntries({ dailyBudget = "", ambientBasis = "" }) {
  const amount = checkedAmount(String(dailyBudget));
  const basis = BASES.find((one) => one === ambientBasis) ?? "";
  return { budget: amount === null ? "" : formatEntry(amount), basis };
}

/**
 * Return the preferences with the entries of the user, or the text of the problem. An empty budget removes it.
 * @param {DisplayPreferences} preferences
 * @param {{ budget: string, basis: string }} entries
 * @returns {{ preferences: DisplayPreferences } | { problem: string }}
 */
export function withEntries(preferences, { budget, basis }) {
  const amount = parseAmount(budget);
  if (budget.trim() && amount === null) return { problem: text("budget.noAmount") };
  if (basis === "BUDGET" && amount === null) return { problem: text("budget.missing") };
  const changed = { ...preferences };
  delete changed.dailyBudget;
  delete changed.ambientBasis;
  if (amount !== null) changed.dailyBudget = String(amount);
  if (basis) changed.ambientBasis = basis;
  return { preferences: changed };
}
