/** Prices and what power costs. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { setCurrency } from "../../wattgate/app/static/display/format.js";
import { resourceIdsByEnergy } from "../../wattgate/app/static/display/home.js";
import { comparisonText, delayText, hourlyCost } from "../../wattgate/app/static/display/power-panel.js";
import { currentRate, nextRate } from "../../wattgate/app/static/display/tariff-panel.js";

setCurrency("GBP");

const CHANGE = Date.UTC(2026, 0, 15, 16);
const UNTIL = new Date(CHANGE).toISOString();

function tariff(rate, next, until = UNTIL) {
  return {
    name: "Variable",
    per: "KILOWATT_HOUR",
    rateWithVat: rate && { amount: rate },
    standingChargeWithVat: { amount: "0.534" },
    until,
    next: next && { start: UNTIL, rateWithVat: { amount: next } },
  };
}

describe("price", () => {
  test("is the current one until it changes", () => {
    assert.deepEqual(currentRate(tariff("20", "30"), CHANGE - 1), { rate: "20", until: UNTIL });
  });

  test("is the next one from the change on, whose end is not known", () => {
    assert.deepEqual(currentRate(tariff("20", "30"), CHANGE), { rate: "30", until: null });
    assert.deepEqual(currentRate(tariff("20", null), CHANGE), { rate: null, until: null });
  });

  test("may have no end", () => {
    assert.deepEqual(currentRate(tariff("20", null, null), CHANGE), { rate: "20", until: null });
  });
});

describe("next price", () => {
  for (const [rate, next, change] of [
    ["9.5", "30", "dearer"],
    ["30", "9.5", "cheaper"],
    ["20", "20", "cheaper"],
    [null, "20", "cheaper"],
  ]) {
    test(`${next} after ${rate} is ${change}`, () => {
      assert.equal(nextRate(tariff(rate, next), CHANGE - 1)?.change, change);
    });
  }

  test("is not shown once it applies, or if there is none", () => {
    assert.equal(nextRate(tariff("20", "30"), CHANGE), null);
    assert.equal(nextRate(tariff("20", null), CHANGE - 1), null);
  });
});

describe("cost of an hour", () => {
  for (const [rate, watts, expected] of [
    ["0.245", 1000, "25p an hour"],
    ["0.245", 0, "0p an hour"],
    ["0.245", 10_000, "£2.45 an hour"],
    ["-0.05", 2000, "-10p an hour"],
    ["0.245", -500, ""],
    [null, 500, ""],
  ]) {
    test(`of ${watts} W at ${rate}`, () => assert.equal(hourlyCost({ rateWithVat: rate && { amount: rate } }, watts), expected));
  }

  test("without a tariff", () => assert.equal(hourlyCost(null, 500), ""));
});

describe("texts of the power panel", () => {
  test("compare with bounds in their unit", () => {
    const [powerLevels, rateLevels] = [
      { lowBelow: { value: 300 }, highFrom: { value: 1500 } },
      { lowBelow: { amount: "0.1500" }, highFrom: { amount: "0.3025" } },
    ];
    assert.equal(
      comparisonText({ level: "LOW", basis: "LEARNED", powerLevels, rateLevels: null }),
      "Compared with your usual use: low under 300 W, high from 1.50 kW",
    );
    assert.equal(
      comparisonText({ level: "LOW", basis: "PRICE", powerLevels: null, rateLevels }),
      "Based on the current price of electricity: low under 15p, high from 30.25p",
    );
    assert.equal(comparisonText(null), "");
  });

  test("give the age and a known cause", () => {
    assert.equal(delayText(45_000, null), "This reading is 45 s old.");
    assert.equal(delayText(45_000, "UNKNOWN"), "This reading is 45 s old.");
    assert.equal(delayText(125_000, "METER"), "This reading is 2 min old. The meter has stopped sending.");
  });
});

describe("energies of a home", () => {
  test("are those that it measures", () => {
    const resources = [
      { resourceId: "1", classifier: "gas.consumption" },
      { resourceId: "2", classifier: "electricity.consumption.cost" },
      { resourceId: "3", classifier: "electricity.export" },
      { resourceId: "4", classifier: null },
    ];
    assert.deepEqual(resourceIdsByEnergy({ resources }), { gas: "1", exported: "3" });
    assert.deepEqual(resourceIdsByEnergy({ resources: [] }), {});
  });
});
