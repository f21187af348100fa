/** Says in words what an amount of money includes, and why a cost is not known. */

import { text } from "./texts.js";

/** @typedef {"NO_READINGS" | "NO_POWER" | "NO_TARIFF" | "NO_PRICE"} NoValueReason */

/**
 * Return what an amount with VAT includes, such as "incl. 53p standing charge and VAT".
 * @param {boolean} includesStandingCharge
 * @param {string} [amount]  Of the included standing charge, formatted.
 * @returns {string}
 */
export function inclusionText(includesStandingCharge, amount = "") {
  if (!includesStandingCharge) return text("cost.vat");
  return amount ? text("cost.chargeOfAndVat", { amount }) : text("cost.chargeAndVat");
}

/**
 * Return why a cost is not known. Empty if the reason is not known either.
 * @param {NoValueReason | null} reason
 * @returns {string}
 */
export function reasonText(reason) {
  return reason ? text(`cost.${reason}`) : "";
}
