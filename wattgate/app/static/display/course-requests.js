/** Reads the recorded half hours that a home without live power shows in the place of the gauge. */

import { call, toTimeRange } from "../shared/gateway.js";
import { COMPARED_DAYS } from "./day-course.js";
import { startOfDay } from "./zone-days.js";

/** @import { RecordedDays } from "./day-course.js" */

const COURSE = `query Course($resourceId: ID!, $range: TimeRange!, $today: TimeRange!, $zone: TimeZone!) {
  resource(resourceId: $resourceId) {
    readings(range: $range, period: PT30M, timeZone: $zone) { buckets { start end value completeness } }
    cost(range: $today) { lines { kind band quantity } }
    tariff { kind rateWithVat { amount } bands { name rateWithVat { amount } } }
  }
}`;

/**
 * Read the half hours of a resource: those of today, and of the days before.
 * @param {string} token
 * @param {string} resourceId
 * @param {string} timeZone
 * @param {number} now
 * @returns {Promise<RecordedDays>}
 */
export async function readRecordedDays(token, resourceId, timeZone, now) {
  const today = { start: startOfDay(now, timeZone), end: startOfDay(now, timeZone, 1) };
  const range = toTimeRange({ start: startOfDay(now, timeZone, -COMPARED_DAYS), end: today.end });
  const { resource } = await call(COURSE, { resourceId, range, today: toTimeRange(today), zone: timeZone }, token);
  return { halfHours: resource.readings.buckets, lines: resource.cost?.lines ?? null, tariff: resource.tariff, timeZone };
}
