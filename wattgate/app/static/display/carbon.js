/** Says how much the carbon intensity of the electricity is. */

import { formatAxisNumber } from "./format.js";
import { text } from "./texts.js";

/** @import { Carbon } from "./subscription.js" */

const UNIT = "gCO2/kWh";
/** The unit as people write it. */
const SHOWN_UNIT = "g CO₂/kWh";
const INDICES = /** @type {const} */ (["VERY_LOW", "LOW", "MODERATE", "HIGH", "VERY_HIGH"]);

/**
 * Return the carbon intensity and its index in words. Empty without one: a missing value is not assumed.
 * @param {Carbon | null | undefined} carbon
 * @returns {string}
 */
export function carbonText(carbon) {
  if (!carbon || !Number.isFinite(carbon.intensity)) return "";
  const unit = carbon.unit === UNIT ? SHOWN_UNIT : carbon.unit;
  const amount = `${formatAxisNumber(Math.round(carbon.intensity))} ${unit}`;
  const known = INDICES.find((index) => index === carbon.index);
  return known ? text("carbon.value", { amount, index: text(`carbon.${known}`) }) : amount;
}
