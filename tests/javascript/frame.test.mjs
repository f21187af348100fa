/** Tests of frames at a later instant. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { currentCarbon, currentPower, freshnessAt, levelBounds } from "../../wattgate/app/static/display/frame.js";

const AT = Date.UTC(2026, 0, 15, 12);
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const LINK = { connected: true, silence: 0 };

const iso = (/** @type {number} */ instant) => new Date(instant).toISOString();

/** A frame with a reading at AT, whose power is valid for two minutes. */
function frame({ state = "LIVE", asOf = AT, every = 10, cause = null, power = 500 } = {}) {
  const time = asOf === null ? null : iso(asOf);
  return {
    frameVersion: 1,
    linkTimeoutSeconds: 35,
    power: power === null ? null : { net: { value: power }, at: iso(AT), validUntil: iso(AT + 2 * MINUTE) },
    ambient: null,
    freshness: { state, asOf: time, expectedEverySeconds: every, cause },
  };
}

describe("freshness", () => {
  for (const [age, expected] of [
    [0, "LIVE"],
    [30 * SECOND - 1, "LIVE"],
    [30 * SECOND, "DELAYED"],
    [2 * MINUTE, "STALE"],
    [15 * MINUTE, "OFFLINE"],
  ]) {
    test(`after ${age} ms of readings every 10 s it is ${expected}`, () => {
      assert.equal(freshnessAt(frame(), AT + age, LINK).state, expected);
    });
  }

  test("limits grow with the expected interval", () => {
    const halfHours = frame({ every: 1800 });
    assert.equal(freshnessAt(halfHours, AT + 60 * MINUTE - 1, LINK).state, "LIVE");
    assert.equal(freshnessAt(halfHours, AT + 60 * MINUTE, LINK).state, "DELAYED");
    assert.equal(freshnessAt(halfHours, AT + 120 * MINUTE, LINK).state, "STALE");
    assert.equal(freshnessAt(halfHours, AT + 240 * MINUTE, LINK).state, "OFFLINE");
  });

  test("the worse of the gateway's state and the age counts", () => {
    assert.equal(freshnessAt(frame({ state: "STALE" }), AT, LINK).state, "STALE");
    assert.equal(freshnessAt(frame({ state: "DELAYED" }), AT + 15 * MINUTE, LINK).state, "OFFLINE");
  });

  test("the cause is the connection while that is lost", () => {
    assert.equal(freshnessAt(frame({ cause: "METER" }), AT, LINK).cause, "METER");
    assert.equal(freshnessAt(frame({ cause: "METER" }), AT, { ...LINK, connected: false }).cause, "CONNECTION");
  });

  test("without any reading it is OFFLINE", () => {
    assert.deepEqual(freshnessAt(frame({ asOf: null }), AT, LINK), { state: "OFFLINE", asOf: null, cause: null });
  });
});

describe("current power", () => {
  test("is that of the frame until it is no longer valid", () => {
    assert.deepEqual(currentPower(frame({ power: -250 }), AT, LINK), { net: -250, at: AT });
    assert.deepEqual(currentPower(frame({ power: 0 }), AT + 2 * MINUTE - 1, LINK), { net: 0, at: AT });
  });

  test("is null from the end of its validity on, or when it is missing", () => {
    assert.equal(currentPower(frame(), AT + 2 * MINUTE, LINK), null);
    assert.equal(currentPower(frame({ power: null }), AT, LINK), null);
  });

  test("is null when the link has been silent for 35 seconds, less the second until the page checks again", () => {
    const halfHours = frame({ every: 1800 });
    for (const connected of [true, false]) {
      assert.notEqual(currentPower(halfHours, AT, { connected, silence: 34 * SECOND - 1 }), null);
      assert.equal(currentPower(halfHours, AT, { connected, silence: 34 * SECOND }), null);
      assert.equal(freshnessAt(halfHours, AT, { connected, silence: 34 * SECOND }).cause, "CONNECTION");
    }
  });
});

describe("current carbon intensity", () => {
  const carbon = { intensity: 142, unit: "gCO2/kWh", at: iso(AT), validUntil: iso(AT + 60 * MINUTE), index: "MODERATE" };

  test("is that of the frame until it is no longer valid", () => {
    assert.equal(currentCarbon({ carbon }, AT + 60 * MINUTE - 1), carbon);
    assert.equal(currentCarbon({ carbon }, AT + 60 * MINUTE), null);
  });

  test("is null when it is missing", () => {
    assert.equal(currentCarbon({ carbon: null }, AT), null);
    assert.equal(currentCarbon({}, AT), null);
  });
});

describe("level bounds", () => {
  test("are powers", () => {
    const powerLevels = { lowBelow: { value: 300 }, highFrom: { value: 900 } };
    const watts = { level: "LOW", basis: "LEARNED", powerLevels, rateLevels: null };
    assert.deepEqual(levelBounds({ ...frame(), ambient: watts }), [300, 900]);
  });

  test("are null for prices and without a level", () => {
    const rateLevels = { lowBelow: { amount: "0.1500" }, highFrom: { amount: "0.3000" } };
    const price = { level: "LOW", basis: "PRICE", powerLevels: null, rateLevels };
    assert.equal(levelBounds({ ...frame(), ambient: price }), null);
    assert.equal(levelBounds(frame()), null);
  });
});
