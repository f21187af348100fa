/** Says in words what an amount of money includes, and why a cost is not known. */

import { text } from "./texts.js";

/**
 * The parts of an amount of money, as the gateway states them.
 * @typedef {{ includesStandingCharge: boolean, includesVat: boolean }} Inclusions
 */

/** @typedef {"NO_READINGS" | "NO_POWER" | "NO_TARIFF" | "NO_PRICE"} NoValueReason */

/**
 * Return what an amount includes, such as "incl. 53p standing charge and VAT".
 * @param {Inclusions} inclusions
 * @param {string} [amount]  Of the included standing charge, formatted.
 * @returns {string}
 */
export function inclusionText({ includesStandingCharge, includesVat }, amount = "") {
  if (!includesStandingCharge) return text(includesVat ? "cost.vat" : "cost.bare");
  if (amount) return text(includesVat ? "cost.chargeOfAndVat" : "cost.chargeOf", { amount });
  return text(includesVat ? "cost.chargeAndVat" : "cost.charge");
}

/**
 * Return why a cost is not known. Empty if the reason is not known either.
 * @param {NoValueReason | null} reason
 * @returns {string}
 */
export function reasonText(reason) {
  return reason ? text(`cost.${reason}`) : "";
}
