/** Tests of the panel of a period, without a page. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { hasEnergy } from "../../wattgate/app/static/display/period-panel.js";

describe("energy of a period", () => {
  const unknown = { value: null, unit: "kWh" };

  test("a home without readings has none", () => {
    assert.equal(hasEnergy({ electricity: unknown, gas: unknown, exported: null }), false);
  });

  test("one energy is enough, also if it is zero", () => {
    assert.equal(hasEnergy({ electricity: unknown, gas: { value: "0.000", unit: "kWh" }, exported: null }), true);
  });
});
