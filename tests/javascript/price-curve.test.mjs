/** The price curve of today and tomorrow, its cheapest slot and its layout. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { buildCurve, cheapestSlot, priceRange, stepAt } from "../../wattgate/app/static/display/price-curve.js";
import { axisValues, layOutCurve } from "../../wattgate/app/static/display/price-layout.js";
import { localTime } from "../../wattgate/app/static/display/zone-days.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const LONDON = "Europe/London";
const WEEK = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"];
const at = (text) => Date.parse(text);
const NOON = at("2026-11-23T12:00Z"); // a Monday

function tariff(kind, values = {}) {
  const rest = { timeZone: LONDON, validFrom: "2026-01-01T00:00Z", bands: [], prices: [] };
  const { rate, ...others } = values;
  return { kind, rateWithVat: rate ? { amount: rate } : null, ...rest, ...others };
}
const night = (rate, values = {}) => {
  return { name: "Night", rateWithVat: { amount: rate }, weekdays: WEEK, start: "23:30", end: "05:30", ...values };
};
/** Prices of consecutive periods, which are half hours by default. */
function prices(start, rates, minutes = 30) {
  const instant = (index) => new Date(at(start) + index * minutes * MINUTE).toISOString();
  return rates.map((rate, index) => ({ at: instant(index), end: instant(index + 1), rateWithVat: String(rate) }));
}
const clockTimes = (steps) => {
  return steps.map(({ start, rate }) => {
    return `${new Date(localTime(start, LONDON)).toISOString().slice(8, 16)} ${rate}`;
  });
};

describe("a time-of-use tariff", () => {
  test("has the rates of its bands, also of those that end after midnight", () => {
    const curve = buildCurve([tariff("TIME_OF_USE", { rate: "30", bands: [night("7.5")] })], NOON, LONDON);
    assert.deepEqual(clockTimes(curve.steps), [
      "23T00:00 7.5", "23T05:30 30", "23T23:30 7.5", "24T00:00 7.5", "24T05:30 30", "24T23:30 7.5",
    ]);
    assert.equal(curve.tomorrowKnown, "all");
    assert.equal(curve.isDynamic, false);
  });

  test("has the band of the weekday on which the band starts", () => {
    const bands = [night("5", { weekdays: ["SUNDAY"] })];
    const curve = buildCurve([tariff("TIME_OF_USE", { rate: "30", bands })], NOON, LONDON);
    assert.deepEqual(clockTimes(curve.steps), ["23T00:00 5", "23T05:30 30", "24T00:00 30"]);
  });

  test("keeps equal prices in one step", () => {
    const bands = [night("0.1051"), { ...night("0.10510001"), start: "05:30", end: "06:00" }];
    const curve = buildCurve([tariff("TIME_OF_USE", { rate: "0.21", bands })], NOON, LONDON);
    assert.deepEqual(clockTimes(curve.steps).slice(0, 2), ["23T00:00 0.1051", "23T06:00 0.21"]);
  });

  test("is in the time of the tariff's zone, drawn in days of the home", () => {
    const paris = tariff("TIME_OF_USE", { rate: "30", timeZone: "Europe/Paris", bands: [night("7")] });
    const [first, second] = buildCurve([paris], NOON, LONDON).steps;
    assert.deepEqual(clockTimes([first, second]), ["23T00:00 7", "23T04:30 30"]);
  });

  test("keeps its hours on days of 23 and of 25 hours", () => {
    const terms = [tariff("TIME_OF_USE", { rate: "30", bands: [night("7")] })];
    for (const [day, hours] of [["2026-03-29T12:00Z", 23], ["2026-10-25T12:00Z", 25]]) {
      const curve = buildCurve(terms, at(day), LONDON);
      assert.equal((curve.tomorrow - curve.start) / HOUR, hours);
      assert.deepEqual(clockTimes(curve.steps).slice(1, 3).map((text) => text.slice(3)), ["05:30 30", "23:30 7"]);
    }
  });
});

describe("several tariffs", () => {
  const current = tariff("TIME_OF_USE", { rate: "30", bands: [night("7")] });

  test("apply from the instant at which they come into force", () => {
    const future = tariff("FLAT", { rate: "20", validFrom: "2026-11-24T00:00Z" });
    const past = tariff("FLAT", { rate: "99", validFrom: "2025-01-01T00:00Z" });
    const curve = buildCurve([future, current, past], NOON, LONDON);
    assert.deepEqual(clockTimes(curve.steps).slice(-2), ["23T23:30 7", "24T00:00 20"]);
  });

  test("have no curve if no price of today or tomorrow depends on time", () => {
    const later = { ...current, validFrom: "2026-12-01T00:00Z" };
    assert.equal(buildCurve([tariff("FLAT", { rate: "20" }), later], NOON, LONDON), null);
    assert.equal(buildCurve([tariff("BLOCK")], NOON, LONDON), null);
    assert.equal(buildCurve([], NOON, LONDON), null);
  });

  test("leave the time before the first one unknown", () => {
    const first = { ...current, validFrom: "2026-11-23T10:00Z" };
    assert.deepEqual(clockTimes(buildCurve([first], NOON, LONDON).steps).slice(0, 2), ["23T00:00 null", "23T10:00 30"]);
  });
});

describe("a dynamic tariff", () => {
  test("shows today only until a price of tomorrow is known", () => {
    const known = tariff("DYNAMIC", { prices: prices("2026-11-23T00:00Z", Array(48).fill(10.5)) });
    const curve = buildCurve([known], NOON, LONDON);
    assert.deepEqual([curve.tomorrowKnown, curve.end, curve.isDynamic], ["none", curve.tomorrow, true]);
    assert.deepEqual(clockTimes(curve.steps), ["23T00:00 10.5"]);
    const partly = tariff("DYNAMIC", { prices: prices("2026-11-23T00:00Z", Array(94).fill(10)) });
    const longer = buildCurve([partly], NOON, LONDON);
    assert.equal(longer.tomorrowKnown, "part");
    assert.deepEqual(clockTimes(longer.steps), ["23T00:00 10", "24T00:00 10", "24T23:00 null"]);
    const full = tariff("DYNAMIC", { prices: prices("2026-11-23T00:00Z", Array(96).fill(10)) });
    assert.equal(buildCurve([full], NOON, LONDON).tomorrowKnown, "all");
  });

  test("has a gap where prices are missing, and no curve without any price", () => {
    const gap = tariff("DYNAMIC", { prices: [...prices("2026-11-23T00:00Z", [5]), ...prices("2026-11-23T01:00Z", [6])] });
    assert.deepEqual(clockTimes(buildCurve([gap], NOON, LONDON).steps), [
      "23T00:00 5", "23T00:30 null", "23T01:00 6", "23T01:30 null",
    ]);
    assert.equal(buildCurve([tariff("DYNAMIC")], NOON, LONDON), null);
  });

  test("has the price of the half hour in which the day begins, where the zone has a quarter hour", () => {
    for (const [zone, first] of [["Asia/Kathmandu", "2026-11-22T18:00Z"], ["Pacific/Chatham", "2026-11-23T10:00Z"]]) {
      const known = tariff("DYNAMIC", { timeZone: zone, prices: prices(first, [4, ...Array(60).fill(7)]) });
      const [begin] = buildCurve([known], NOON, zone).steps;
      assert.deepEqual([begin.rate, begin.end - begin.start], [4, 15 * MINUTE]);
    }
  });

  test("has a step for each price, whether it holds for 5, 15, 30 or 60 minutes", () => {
    for (const minutes of [5, 15, 30, 60]) {
      const count = (24 * 60) / minutes;
      const rates = Array.from({ length: count }, (_, index) => index);
      const known = tariff("DYNAMIC", { prices: prices("2026-11-23T00:00Z", rates, minutes) });
      const { steps } = buildCurve([known], NOON, LONDON);
      assert.deepEqual(steps.map(({ rate }) => rate), rates);
      assert.deepEqual([...new Set(steps.map(({ start, end }) => end - start))], [minutes * MINUTE]);
    }
  });

  test("is rounded as the gateway rounds, also where a float is a little less than a half", () => {
    const wrong = [];
    for (let number = 0; number <= 7_000; number += 1) {
      const rateWithVat = `0.${String(number).padStart(4, "0")}5`;
      const known = tariff("DYNAMIC", { prices: prices("2026-11-23T00:00Z", [rateWithVat]) });
      const { rate } = buildCurve([known], NOON, LONDON).steps[0];
      if (Math.abs(rate * 10_000 - (number + 1)) > 1e-6) wrong.push(rateWithVat);
    }
    assert.deepEqual(wrong, []);
    const negative = tariff("DYNAMIC", { prices: prices("2026-11-23T00:00Z", ["-0.00125"]) });
    assert.equal(buildCurve([negative], NOON, LONDON).steps[0].rate, -0.0013);
  });

  test("has both half hours that clocks show twice", () => {
    const rates = Array.from({ length: 50 }, (_, index) => index);
    const twice = tariff("DYNAMIC", { prices: prices("2026-10-24T23:00Z", rates) });
    const { steps } = buildCurve([twice], at("2026-10-25T12:00Z"), LONDON);
    assert.equal(steps.length, 50);
    assert.deepEqual(clockTimes(steps).slice(2, 6), ["25T01:00 2", "25T01:30 3", "25T01:00 4", "25T01:30 5"]);
  });
});

describe("the cheapest slot", () => {
  const terms = [tariff("TIME_OF_USE", { rate: "30", bands: [night("7.5")] })];

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
    const known = tariff("DYNAMIC", { prices: prices("2026-11-23T00:00Z", [-9, ...Array(28).fill(12), -2.5, -2.5, 4]) });
    const slot = cheapestSlot(buildCurve([known], NOON, LONDON), NOON);
    assert.deepEqual([clockTimes([slot]), slot.end - slot.start], [["23T14:30 -2.5"], HOUR]);
  });

  test("does not exist where all coming prices are the same", () => {
    const known = tariff("DYNAMIC", { prices: prices("2026-11-23T00:00Z", [1, ...Array(47).fill(12)]) });
    assert.equal(cheapestSlot(buildCurve([known], NOON, LONDON), NOON), null);
  });
});

test("a step is found by an instant, and nothing outside of the curve", () => {
  const curve = buildCurve([tariff("TIME_OF_USE", { rate: "30", bands: [night("7")] })], NOON, LONDON);
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
    const known = tariff("DYNAMIC", { prices: prices("2026-11-23T00:00Z", [-10, 30]) });
    const layout = layOutCurve(buildCurve([known], NOON, LONDON), NOON, LONDON);
    assert.deepEqual(layout.gridlines.map(({ value }) => value), [-20, 0, 20, 40]);
    const heights = layout.boxes.map(({ low, high }) => [low, high].map((share) => share && Math.round(share * 60)));
    assert.deepEqual(heights, [[10, 20], [20, 50], [null, null]]);
    assert.deepEqual(layout.boxes.map(({ isNegative }) => isNegative), [true, false, false]);
  });

  test("is as wide as the time, with ticks at hours of the clock", () => {
    const known = tariff("DYNAMIC", { prices: prices("2026-10-24T23:00Z", Array(50).fill(3)) });
    const now = at("2026-10-25T12:30Z");
    const layout = layOutCurve(buildCurve([known], now, LONDON), now, LONDON);
    assert.deepEqual(layout.hours.map(({ at: share }) => Math.round(share * 25 * 100) / 100), [0, 4, 7, 10, 13, 16, 19, 22]);
    assert.equal(layout.now, 13.5 / 25);
    assert.equal(layout.tomorrow, null);
    assert.deepEqual(layout.hours.map(({ minor }) => minor).slice(0, 3), [false, true, false]);
  });
});
