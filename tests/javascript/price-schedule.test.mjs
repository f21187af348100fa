/** When prices are read. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { isReadingDue, tariffKey } from "../../wattgate/app/static/display/price-schedule.js";

const MINUTE = 60_000;
const AT = Date.parse("2026-11-23T12:00Z");
const isDue = (last, now, key = "A 1") => isReadingDue(last, key, now, "Europe/London");
const reading = (curve) => ({ at: AT, tariff: "A 1", curve });

test("prices are read once a day, and after a change of the tariff", () => {
  const complete = reading({ isDynamic: true, tomorrowKnown: "all" });
  assert.equal(isDue(null, AT), true);
  assert.equal(isDue(complete, AT + 11 * 60 * MINUTE), false);
  assert.equal(isDue(complete, Date.parse("2026-11-24T00:00Z")), true);
  assert.equal(isDue(complete, AT + MINUTE, "B 1"), true);
  assert.equal(isDue(reading(null), AT + 5 * 60 * MINUTE), false);
});

test("the prices of tomorrow are looked for every half hour until all are known", () => {
  for (const tomorrowKnown of ["none", "part"]) {
    const awaited = reading({ isDynamic: true, tomorrowKnown });
    assert.deepEqual([29, 30].map((minutes) => isDue(awaited, AT + minutes * MINUTE)), [false, true]);
  }
  assert.equal(isDue(reading({ isDynamic: false, tomorrowKnown: "none" }), AT + 90 * MINUTE), false);
});

test("a price that does not change has no curve to read", () => {
  assert.equal(tariffKey({ tariff: null }), null);
  assert.equal(tariffKey({ tariff: { name: "A", standingChargeWithVat: { amount: "1" }, until: null } }), null);
  const tariff = { name: "A", standingChargeWithVat: { amount: "1" }, until: "2026-11-23T16:00Z" };
  const slots = [null, { start: "x", rateWithVat: { amount: "5" } }, { start: "y", rateWithVat: { amount: "4" } }];
  const keys = slots.map((cheapest) => tariffKey({ tariff, cheapest }));
  assert.equal(new Set(keys).size, 3);
  assert.equal(keys.includes(null), false);
});
