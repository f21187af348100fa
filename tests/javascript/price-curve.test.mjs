/** The price curve of today and tomorrow, its cheapest slot and its layout. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { buildCurve, cheapestSlot, priceRange, stepAt } from "../../wattgate/app/static/display/price-curve.js";
import { axisValues, layOutCurve } from "../../wattgate/app/static/display/price-layout.js";
import { localTime } from "../../wattgate/app/static/display/zone-days.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const LONDON = "Europe/London";
const at = (text) => Date.parse(text);
const NOON = at("2026-11-23T12:00Z"); // a Monday
const DAY_START = "2026-11-23T00:00Z";

/** The answer of the gateway: the tariffs in force, by their kinds, and the spans with known prices. */
function known(kind, priceCurve) {
  return { tariffs: [{ kind, validFrom: "2026-01-01T00:00Z" }], priceCurve };
}
/** Spans of consecutive periods, which are half hours by default. A null price leaves its period out. */
function spans(start, rates, minutes = 30) {
  const instant = (index) => new Date(at(start) + index * minutes * MINUTE).toISOString();
  const all = rates.map((rate, index) => ({ start: instant(index), end: instant(index + 1), rateWithVat: { amount: String(rate) } }));
  return all.filter((_, index) => rates[index] !== null);
}
const dynamic = (...given) => known("DYNAMIC", spans(...given));
/** The prices of two days whose night ends at 05:30 and begins at 23:30. */
const nightAndDay = (night = "7.5", day = "30", start = DAY_START) => {
  const begin = at(start);
  const edges = [0, 5.5, 23.5, 29.5, 47.5, 48].map((hours) => new Date(begin + hours * HOUR).toISOString());
  const rates = [night, day, night, day, night];
  const priceCurve = rates.map((amount, index) => ({ start: edges[index], end: edges[index + 1], rateWithVat: { amount } }));
  return known("TIME_OF_USE", priceCurve);
};
const clockTimes = (steps) => {
  return steps.map(({ start, rate }) => {
    return `${new Date(localTime(start, LONDON)).toISOString().slice(8, 16)} ${rate}`;
  });
};

describe("a time-of-use tariff", () => {
  test("has a step for each span, and one that ends at midnight", () => {
    const curve = buildCurve(nightAndDay(), NOON, LONDON);
    assert.deepEqual(clockTimes(curve.steps), [
      "23T00:00 7.5", "23T05:30 30", "23T23:30 7.5", "24T00:00 7.5", "24T05:30 30", "24T23:30 7.5",
    ]);
    assert.equal(curve.tomorrowKnown, "all");
    assert.equal(curve.isDynamic, false);
  });

  test("keeps equal prices in one step", () => {
    const curve = buildCurve(known("TIME_OF_USE", spans(DAY_START, ["0.1051", "0.10510001", "0.21"])), NOON, LONDON);
    assert.deepEqual(clockTimes(curve.steps).slice(0, 2), ["23T00:00 0.1051", "23T01:00 0.21"]);
  });

  test("has days of 23 and of 25 hours", () => {
    for (const [day, hours] of [["2026-03-29T12:00Z", 23], ["2026-10-25T12:00Z", 25]]) {
      const { start, end } = priceRange(at(day), LONDON);
      const whole = [{ start: new Date(start).toISOString(), end: new Date(end).toISOString(), rateWithVat: { amount: "7" } }];
      const curve = buildCurve(known("TIME_OF_USE", whole), at(day), LONDON);
      assert.equal((curve.tomorrow - curve.start) / HOUR, hours);
      assert.deepEqual(curve.steps.map((step) => step.start), [start, curve.tomorrow]);
    }
  });
});

describe("several tariffs", () => {
  const { priceCurve } = nightAndDay();
  const from = (kind, validFrom) => ({ kind, validFrom });

  test("have a curve if one of them depends on time today or tomorrow", () => {
    const past = from("TIME_OF_USE", "2025-01-01T00:00Z");
    const flat = from("FLAT", "2026-01-01T00:00Z");
    const tomorrow = from("TIME_OF_USE", "2026-11-24T00:00Z");
    const later = from("DYNAMIC", "2026-12-01T00:00Z");
    assert.equal(buildCurve({ tariffs: [past, flat, later], priceCurve }, NOON, LONDON), null);
    assert.ok(buildCurve({ tariffs: [tomorrow, flat], priceCurve }, NOON, LONDON));
    assert.equal(buildCurve({ tariffs: [from("BLOCK", "2026-01-01T00:00Z")], priceCurve: [] }, NOON, LONDON), null);
    assert.equal(buildCurve({ tariffs: [], priceCurve: [] }, NOON, LONDON), null);
  });

  test("leave the time before the first one unknown", () => {
    const first = { tariffs: [from("TIME_OF_USE", "2026-11-23T10:00Z")], priceCurve: spans("2026-11-23T10:00Z", [30]) };
    assert.deepEqual(clockTimes(buildCurve(first, NOON, LONDON).steps).slice(0, 2), ["23T00:00 null", "23T10:00 30"]);
  });
});

describe("a dynamic tariff", () => {
  test("shows today only until a price of tomorrow is known", () => {
    const curve = buildCurve(dynamic(DAY_START, Array(48).fill(10.5)), NOON, LONDON);
    assert.deepEqual([curve.tomorrowKnown, curve.end, curve.isDynamic], ["none", curve.tomorrow, true]);
    assert.deepEqual(clockTimes(curve.steps), ["23T00:00 10.5"]);
    const longer = buildCurve(dynamic(DAY_START, Array(94).fill(10)), NOON, LONDON);
    assert.equal(longer.tomorrowKnown, "part");
    assert.deepEqual(clockTimes(longer.steps), ["23T00:00 10", "24T00:00 10", "24T23:00 null"]);
    assert.equal(buildCurve(dynamic(DAY_START, Array(96).fill(10)), NOON, LONDON).tomorrowKnown, "all");
  });

  test("has a gap where prices are missing, and no curve without any price", () => {
    assert.deepEqual(clockTimes(buildCurve(dynamic(DAY_START, [5, null, 6]), NOON, LONDON).steps), [
      "23T00:00 5", "23T00:30 null", "23T01:00 6", "23T01:30 null",
    ]);
    assert.equal(buildCurve(known("DYNAMIC", []), NOON, LONDON), null);
  });

  test("has a step for each price, whether it holds for 5, 15, 30 or 60 minutes", () => {
    for (const minutes of [5, 15, 30, 60]) {
      const count = (24 * 60) / minutes;
      const rates = Array.from({ length: count }, (_, index) => index);
      const { steps } = buildCurve(dynamic(DAY_START, rates, minutes), NOON, LONDON);
      assert.deepEqual(steps.map(({ rate }) => rate), rates);
      assert.deepEqual([...new Set(steps.map(({ start, end }) => end - start))], [minutes * MINUTE]);
    }
  });

  test("has no part of a price outside of the two days", () => {
    const { steps } = buildCurve(dynamic("2026-11-22T23:30Z", Array(50).fill(8), 60), NOON, LONDON);
    assert.deepEqual([steps[0].start, steps.at(-1).end], Object.values(priceRange(NOON, LONDON)));
  });

  test("is rounded as the gateway rounds, also where a float is a little less than a half", () => {
    const wrong = [];
    for (let number = 0; number <= 7_000; number += 1) {
      const rate = `0.${String(number).padStart(4, "0")}5`;
      const { steps } = buildCurve(dynamic(DAY_START, [rate]), NOON, LONDON);
      if (Math.abs(steps[0].rate * 10_000 - (number + 1)) > 1e-6) wrong.push(rate);
    }
    assert.deepEqual(wrong, []);
    assert.equal(buildCurve(dynamic(DAY_START, ["-0.00125"]), NOON, LONDON).steps[0].rate, -0.0013);
  });

  test("has both half hours that clocks show twice", () => {
    const rates = Array.from({ length: 50 }, (_, index) => index);
    const { steps } = buildCurve(dynamic("2026-10-24T23:00Z", rates), at("2026-10-25T12:00Z"), LONDON);
    assert.equal(steps.length, 50);
    assert.deepEqual(clockTimes(steps).slice(2, 6), ["25T01:00 2", "25T01:30 3", "25T01:00 4", "25T01:30 5"]);
  });
});

describe("the cheapest slot", () => {
  const terms = nightAndDay();

  test("is the first coming span with the lowest price, also across midnight", () => {
    const slot = cheapestSlot(buildCurve(terms, NOON, LONDON), NOON);
    assert.deepEqual(clockTimes([slot]), ["23T23:30 7.5"]);
    assert.equal(slot.end - slot.start, 6 * HOUR);
  });

  test("may be running", () => {
    const now = at("2026-11-23T02:00Z");
    assert.equal(cheapestSlot(buildCurve(terms, now, LONDON), now).start, at("2026-11-23T00:00Z"));
  });

  test("may have a negative price, and leaves out the past", () => {
    const prices = dynamic("2026-11-23T00:00Z", [-9, ...Array(28).fill(12), -2.5, -2.5, 4]);
    const slot = cheapestSlot(buildCurve(prices, NOON, LONDON), NOON);
    assert.deepEqual([clockTimes([slot]), slot.end - slot.start], [["23T14:30 -2.5"], HOUR]);
  });

  test("does not exist where all coming prices are the same", () => {
    const prices = dynamic("2026-11-23T00:00Z", [1, ...Array(47).fill(12)]);
    assert.equal(cheapestSlot(buildCurve(prices, NOON, LONDON), NOON), null);
  });
});

test("a step is found by an instant, and nothing outside of the curve", () => {
  const curve = buildCurve(nightAndDay("7"), NOON, LONDON);
  assert.equal(stepAt(curve, NOON)?.rate, 30);
  assert.equal(stepAt(curve, curve.end), undefined);
  const { start, end } = priceRange(NOON, LONDON);
  assert.deepEqual([start, end], [curve.start, curve.end]);
});

describe("the layout", () => {
  test("puts zero on the axis, also with negative prices", () => {
    assert.deepEqual(axisValues([7, 30]), [0, 10, 20, 30]);
    assert.deepEqual(axisValues([-4, 28]), [-20, 0, 20, 40]);
    assert.deepEqual(axisValues([-3, -1]), [-3, -2, -1, 0]);
    assert.deepEqual(axisValues([0]), [0, 1]);
    assert.deepEqual(axisValues([0.07, 0.3]), [0, 0.1, 0.2, 0.3]);
    assert.deepEqual(axisValues([0.6]), [0, 0.2, 0.4, 0.6]);
  });

  test("gives negative prices boxes below zero, and unknown ones none", () => {
    const prices = dynamic("2026-11-23T00:00Z", [-10, 30]);
    const layout = layOutCurve(buildCurve(prices, NOON, LONDON), NOON, LONDON);
    assert.deepEqual(layout.gridlines.map(({ value }) => value), [-20, 0, 20, 40]);
    const heights = layout.boxes.map(({ low, high }) => [low, high].map((share) => share && Math.round(share * 60)));
    assert.deepEqual(heights, [[10, 20], [20, 50], [null, null]]);
    assert.deepEqual(layout.boxes.map(({ isNegative }) => isNegative), [true, false, false]);
  });

  test("is as wide as the time, with ticks at hours of the clock", () => {
    const prices = dynamic("2026-10-24T23:00Z", Array(50).fill(3));
    const now = at("2026-10-25T12:30Z");
    const layout = layOutCurve(buildCurve(prices, now, LONDON), now, LONDON);
    assert.deepEqual(layout.hours.map(({ at: share }) => Math.round(share * 25 * 100) / 100), [0, 4, 7, 10, 13, 16, 19, 22]);
    assert.equal(layout.now, 13.5 / 25);
    assert.equal(layout.tomorrow, null);
    assert.deepEqual(layout.hours.map(({ minor }) => minor).slice(0, 3), [false, true, false]);
  });
});
