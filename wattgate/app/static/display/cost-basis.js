/** Says in words what an amount of money includes, and why a cost is not known. */

/**
 * The parts of an amount of money, as the gateway states them.
 * @typedef {{ includesStandingCharge: boolean, includesVat: boolean }} Inclusions
 */

/** @typedef {"NO_READINGS" | "NO_POWER" | "NO_TARIFF" | "NO_PRICE"} NoValueReason */

/** @type {Record<NoValueReason, string>} */
const REASONS = {
  NO_READINGS: "No readings",
  NO_POWER: "No power",
  NO_TARIFF: "No tariff",
  NO_PRICE: "No price",
};

/**
 * Return what an amount includes, such as "incl. 53p standing charge and VAT".
 * @param {Inclusions} inclusions
 * @param {string} [amount]  Of the included standing charge, formatted.
 * @returns {string}
 */
export function inclusionText({ includesStandingCharge, includesVat }, amount = "") {
  const charge = amount ? `${amount} standing charge` : "standing charge";
  if (includesStandingCharge) return includesVat ? `incl. ${charge} and VAT` : `incl. ${charge}, without VAT`;
  return includesVat ? "incl. VAT, without standing charge" : "without standing charge and VAT";
}

/**
 * Return why a cost is not known. Empty if the reason is not known either.
 * @param {NoValueReason | null} reason
 * @returns {string}
 */
export function reasonText(reason) {
  return reason ? REASONS[reason] : "";
}
