/** Tests of the panel of a period, without a page. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { completeMoment, hasEnergy } from "../../wattgate/app/static/display/period-panel.js";

describe("energy of a period", () => {
  const unknown = { energy: null };

  test("a home without readings has none", () => {
    assert.equal(hasEnergy({ electricity: unknown, gas: unknown, exported: null }), false);
  });

  test("one energy is enough, also if it is zero", () => {
    assert.equal(hasEnergy({ electricity: unknown, gas: { energy: { value: "0.000", unit: "KILOWATT_HOUR" } }, exported: null }), true);
  });
});

describe("moment up to which a period is complete", () => {
  const start = "2026-11-17T00:00:00.000Z";
  const known = { electricity: { energy: { value: "0.41", unit: "KILOWATT_HOUR" } }, gas: null, exported: null, start };

  test("it is that of the frame", () => {
    const completeTo = "2026-11-17T00:30:00.000Z";
    assert.equal(completeMoment({ ...known, completeTo }), Date.parse(completeTo));
  });

  test("a period whose first sample is missing has none", () => {
    assert.equal(completeMoment({ ...known, completeTo: start }), null);
  });

  test("a period without readings has none", () => {
    const unknown = { ...known, electricity: { energy: null } };
    assert.equal(completeMoment({ ...unknown, completeTo: "2026-11-17T00:30:00.000Z" }), null);
    assert.equal(completeMoment({ ...known, completeTo: null }), null);
  });
});
