/** The estimate of the gateway's time from two clocks of the device, which the tests set. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { GatewayClock } from "../../wattgate/app/static/shared/clock.js";

const START = Date.UTC(2026, 0, 15, 12);
const MINUTE = 60_000;

/** A device whose clock is two minutes slow, and the gateway's clock on it. */
function device() {
  const times = { steady: 1000, wall: START - 2 * MINUTE };
  const clock = new GatewayClock(() => times.steady, () => times.wall);
  const pass = (steady, wall = steady) => {
    times.steady += steady;
    times.wall += wall;
  };
  return { clock, pass };
}

describe("the gateway's time", () => {
  test("is the device's until the gateway has reported its own", () => {
    const { clock } = device();
    assert.equal(clock.now(), START - 2 * MINUTE);
  });

  test("goes on after the gateway has reported it", () => {
    const { clock, pass } = device();
    clock.setTime(START);
    pass(5000);
    assert.equal(clock.now(), START + 5000);
  });

  test("counts sleep, in which only the wall clock goes on", () => {
    const { clock, pass } = device();
    clock.setTime(START);
    pass(1000, 10 * MINUTE);
    assert.equal(clock.now(), START + 10 * MINUTE);
  });

  test("does not go back when the device's clock is set back", () => {
    const { clock, pass } = device();
    clock.setTime(START);
    pass(1000, -10 * MINUTE);
    assert.equal(clock.now(), START + 1000);
  });

  test("only advances by a message that may be late", () => {
    const { clock } = device();
    clock.setTime(START);
    clock.advanceTo(START - MINUTE);
    assert.equal(clock.now(), START);
    clock.advanceTo(START + MINUTE);
    assert.equal(clock.now(), START + MINUTE);
  });
});

describe("a Date header", () => {
  const header = (offset) => new Date(START + offset).toUTCString();

  for (const [offset, expected] of [[3000, 0], [-3000, 0], [4000, 4000], [-4000, -4000]]) {
    test(`that is ${offset} ms off`, () => {
      const { clock } = device();
      clock.setTime(START);
      clock.setFromDateHeader(header(offset));
      assert.equal(clock.now(), START + expected);
    });
  }

  for (const missing of [null, "", "yesterday"]) {
    test(`that is ${JSON.stringify(missing)} changes nothing`, () => {
      const { clock } = device();
      clock.setTime(START);
      clock.setFromDateHeader(missing);
      assert.equal(clock.now(), START);
    });
  }
});

describe("a jump", () => {
  test("is reported once", () => {
    const { clock, pass } = device();
    pass(MINUTE);
    assert.equal(clock.detectJump(), false);
    pass(0, 5001);
    assert.equal(clock.detectJump(), true);
    assert.equal(clock.detectJump(), false);
  });

  test("may also go back, and is larger than five seconds", () => {
    const { clock, pass } = device();
    pass(0, -5000);
    assert.equal(clock.detectJump(), false);
    pass(0, -5001);
    assert.equal(clock.detectJump(), true);
  });
});
