/** Reads the tariffs from which the price curve is built. */

import { call, toTimeRange } from "../shared/gateway.js";

/** @import { PricedTariff } from "./price-curve.js" */

const PRICES = `query Prices($resourceId: ID!, $range: TimeRange!) {
  resource(resourceId: $resourceId) {
    tariffs(upcoming: true) {
      kind rateWithVat { amount } timeZone validFrom
      bands { name rateWithVat { amount } weekdays start end }
      prices(range: $range) { at end rateWithVat }
    }
  }
}`;

/** The longest time for which a price holds. A day of the home may begin inside it. */
const HOUR = 3_600_000;

/**
 * Return the tariffs of a resource, with the prices of a range, also of one that begins before it.
 * @param {string} token
 * @param {string} resourceId
 * @param {{ start: number, end: number }} range  In milliseconds since 1970.
 * @returns {Promise<PricedTariff[]>}
 */
export async function readTariffs(token, resourceId, range) {
  const needed = toTimeRange({ ...range, start: range.start - HOUR });
  return (await call(PRICES, { resourceId, range: needed }, token)).resource.tariffs;
}
