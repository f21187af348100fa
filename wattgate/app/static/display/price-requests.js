/** Reads the prices of the price curve. */

import { call, toTimeRange } from "../shared/gateway.js";

/** @import { KnownPrices } from "./price-curve.js" */

const PRICES = `query Prices($resourceId: ID!, $range: TimeRange!) {
  resource(resourceId: $resourceId) {
    tariffs(upcoming: true) { kind validFrom }
    priceCurve(range: $range) { start end rateWithVat { amount } }
  }
}`;

/**
 * Return the known prices of a resource in a range, and its tariffs.
 * @param {string} token
 * @param {string} resourceId
 * @param {{ start: number, end: number }} range  In milliseconds since 1970.
 * @returns {Promise<KnownPrices>}
 */
export async function readPrices(token, resourceId, range) {
  return (await call(PRICES, { resourceId, range: toTimeRange(range) }, token)).resource;
}
