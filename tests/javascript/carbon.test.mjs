/** The carbon intensity in words. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { carbonText } from "../../wattgate/app/static/display/carbon.js";

const at = "2026-11-23T12:00Z";

test("the carbon intensity has the words of its index", () => {
  const carbon = { intensity: 142.4, unit: "gCO2/kWh", at, index: "LOW" };
  assert.equal(carbonText(carbon), "142 g CO₂/kWh, low");
});

test("an index of a newer gateway is left out", () => {
  assert.equal(carbonText({ intensity: 90, unit: "g/kWh", at, index: "TINY" }), "90 g/kWh");
});

test("there are no words without a value", () => {
  for (const carbon of [null, undefined, { intensity: NaN, unit: "g", at, index: "LOW" }]) {
    assert.equal(carbonText(carbon), "");
  }
});
