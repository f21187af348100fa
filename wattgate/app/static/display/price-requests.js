/** Reads the tariffs from which the price curve is built. */

import { call, toTimeRange } from "../shared/gateway.js";

/** @import { PricedTariff } from "./price-curve.js" */

const PRICES = `query Prices($resourceId: ID!, $range: TimeRange!) {
  resource(resourceId: $resourceId) {
    tariffs(upcoming: true) {
      kind rateWithVat { amount } vatPercent timeZone validFrom
      bands { name rateWithVat { amount } weekdays start end }
      prices(range: $range) { at rate }
    }
  }
}`;

/**
 * Return the tariffs of a resource, with the half-hourly prices of a range.
 * @param {string} token
 * @param {string} resourceId
 * @param {{ start: number, end: number }} range  In milliseconds since 1970.
 * @returns {Promise<PricedTariff[]>}
 */
export async function readTariffs(token, resourceId, range) {
  return (await call(PRICES, { resourceId, range: toTimeRange(range) }, token)).resource.tariffs;
}
