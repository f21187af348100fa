/** The course of a day in recorded half hours, without a browser. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { cheapShare, dayCourse, hasLivePower } from "../../wattgate/app/static/display/day-course.js";
import { differenceText } from "../../wattgate/app/static/display/power-panel.js";
import { setLocale } from "../../wattgate/app/static/display/texts.js";
import { startOfDay } from "../../wattgate/app/static/display/zone-days.js";

const HALF_HOUR = 1_800_000;
const zone = "Europe/London";

/**
 * Return half hours from the start of the day `days` before now until before `end`, with the values of a function.
 */
function halfHours(now, days, end, value = () => 0.5, timeZone = zone) {
  const buckets = [];
  for (let at = startOfDay(now, timeZone, -days); at < end; at += HALF_HOUR) {
    buckets.push({ start: new Date(at).toISOString(), end: new Date(at + HALF_HOUR).toISOString(), value: value(at) });
  }
  return buckets;
}

describe("the course of a day", () => {
  const now = Date.UTC(2026, 10, 17, 14, 40);
  const upTo = Date.UTC(2026, 10, 17, 14, 30);

  test("has the last half hour, and the day so far against the mean of the days before", () => {
    const today = startOfDay(now, zone);
    const buckets = halfHours(now, 7, upTo, (at) => (at < today ? 0.5 : 0.25));
    assert.deepEqual(dayCourse({ halfHours: buckets, timeZone: zone }, now), {
      last: { start: upTo - HALF_HOUR, end: upTo, value: 0.25 },
      upTo,
      hasToday: true,
      soFar: 29 * 0.25,
      usual: 29 * 0.5,
      usualDay: 48 * 0.5,
    });
  });

  test("ignores half hours of today that have no value yet, and days with a gap", () => {
    const gap = startOfDay(now, zone, -2) + 3 * HALF_HOUR;
    const buckets = halfHours(now, 7, startOfDay(now, zone, 1), (at) => (at >= upTo || at === gap ? null : at < startOfDay(now, zone, -2) ? 1 : 3));
    const course = dayCourse({ halfHours: buckets, timeZone: zone }, now);
    assert.equal(course?.last.end, upTo);
    assert.equal(course?.usual, (29 * (5 * 1 + 3)) / 6);
  });

  test("leaves out the newest half hour while a part of its readings is missing", () => {
    const buckets = halfHours(now, 7, upTo).map((one) => ({ ...one, completeness: 1 }));
    buckets[buckets.length - 1].completeness = 0.5;
    const course = dayCourse({ halfHours: buckets, timeZone: zone }, now);
    assert.deepEqual([course?.last.end, course?.upTo, course?.soFar], [upTo - HALF_HOUR, upTo - HALF_HOUR, 28 * 0.5]);
    const hourly = buckets.map((one) => ({ ...one, completeness: 0.5 }));
    assert.equal(dayCourse({ halfHours: hourly, timeZone: zone }, now)?.last.end, upTo);
  });

  test("needs three complete days", () => {
    assert.equal(dayCourse({ halfHours: halfHours(now, 2, upTo), timeZone: zone }, now)?.usual, null);
    assert.equal(dayCourse({ halfHours: halfHours(now, 3, upTo), timeZone: zone }, now)?.usual, 14.5);
  });

  test("without a half hour of today compares nothing", () => {
    const course = dayCourse({ halfHours: halfHours(now, 7, startOfDay(now, zone)), timeZone: zone }, now);
    assert.deepEqual([course?.hasToday, course?.soFar, course?.usual, course?.usualDay], [false, 0, null, 24]);
  });

  test("without any half hour is unknown", () => {
    assert.equal(dayCourse({ halfHours: [], timeZone: zone }, now), null);
  });

  test("compares the same time of the clock after a change of the clocks, and in a zone with a quarter", () => {
    const later = Date.UTC(2026, 2, 29, 11, 10);
    const end = Date.UTC(2026, 2, 29, 11, 0);
    // 12:00 local time: 22 half hours of the short day, 24 of the days before.
    const course = dayCourse({ halfHours: halfHours(later, 7, end), timeZone: zone }, later);
    assert.deepEqual([course?.soFar, course?.usual], [11, 12]);
    const kathmandu = "Asia/Kathmandu";
    const there = halfHours(now, 7, startOfDay(now, kathmandu) + 10 * HALF_HOUR, () => 1, kathmandu);
    assert.equal(dayCourse({ halfHours: there, timeZone: kathmandu }, now)?.usual, 10);
  });
});

describe("the share of the cheap hours", () => {
  const bands = [
    { name: "night", rateWithVat: { amount: "0.08" } },
    { name: "peak", rateWithVat: { amount: "0.37" } },
  ];
  const tariff = { kind: "TIME_OF_USE", rateWithVat: { amount: "0.28" }, bands };
  const line = (band, quantity, kind = "ENERGY") => ({ kind, band, quantity });

  test("is that of the energy in the cheapest band", () => {
    const lines = [line("night", "1.5"), line(null, "4"), line("peak", "0.5"), line(null, "1", "STANDING_CHARGE")];
    assert.equal(cheapShare({ lines, tariff }), 0.25);
    assert.equal(cheapShare({ lines: [line("peak", "2")], tariff }), 0);
    assert.equal(cheapShare({ lines: [line(null, "2")], tariff: { ...tariff, rateWithVat: { amount: "0.05" } } }), 1);
  });

  test("is unknown without bands, energy, tariff or a difference", () => {
    assert.equal(cheapShare({ lines: [line(null, "2")], tariff: { ...tariff, bands: [] } }), null);
    assert.equal(cheapShare({ lines: [], tariff }), null);
    assert.equal(cheapShare({ lines: null, tariff: null }), null);
    assert.equal(cheapShare({ lines: [line("night", "2")], tariff: { ...tariff, rateWithVat: null, bands: [bands[0]] } }), null);
  });
});

test("a home is live with power, or while readings of seconds are expected", () => {
  const live = (power, expectedEverySeconds) => hasLivePower({ power, freshness: { expectedEverySeconds } });
  assert.deepEqual([live({}, 1800), live(null, 10), live(null, 1800), live(null, 900)], [true, true, false, false]);
});

test("the difference from the usual day is stated in words", () => {
  setLocale("en-GB");
  assert.deepEqual([differenceText(4, 5), differenceText(6, 5), differenceText(5.2, 5)], ["20% less than usual", "20% more than usual", "as usual"]);
});
