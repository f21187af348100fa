/** The steps of a chart's axis and the positions on the gauge. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { gaugePosition } from "../../wattgate/app/static/display/gauge.js";
import { roundSteps } from "../../wattgate/app/static/display/scale.js";

describe("axis steps", () => {
  for (const maximum of [0, -1, NaN]) {
    test(`without a positive maximum (${maximum}) there is one step`, () => {
      assert.deepEqual(roundSteps(maximum), [0, 1]);
    });
  }

  for (const [maximum, expected] of [
    [1, [0, 0.5, 1]],
    [3, [0, 1, 2, 3]],
    [3.1, [0, 2, 4]],
    [7, [0, 2.5, 5, 7.5]],
    [100, [0, 50, 100]],
  ]) {
    test(`up to ${maximum}`, () => assert.deepEqual(roundSteps(maximum), expected));
  }

  test("steps are equal and round, and reach the maximum with one step to spare at most", () => {
    for (let maximum = 0.0007; maximum < 1e6; maximum *= 1.37) {
      const steps = roundSteps(maximum);
      const step = steps[1];
      const factor = step / 10 ** Math.floor(Math.log10(step * 1.000001));
      assert.ok([1, 2, 2.5, 5].some((round) => Math.abs(factor - round) < 1e-6), `${step} is not round`);
      assert.ok(steps.at(-1) >= maximum * (1 - 1e-9), `${steps.at(-1)} is below ${maximum}`);
      assert.ok(steps.at(-1) - step < maximum, `${steps.at(-1)} is too far above ${maximum}`);
      assert.ok(steps.length >= 3 && steps.length <= 4, `${steps.length} steps for ${maximum}`);
    }
  });
});

describe("gauge", () => {
  for (const [watts, twoSided, expected] of [
    [0, false, 0],
    [2500, false, 0.5],
    [10_000, false, 1],
    [50_000, false, 1],
    [-100, false, 0],
    [0, true, 0.5],
    [2500, true, 0.75],
    [-2500, true, 0.25],
    [-50_000, true, 0],
  ]) {
    test(`${watts} W on a ${twoSided ? "two-sided" : "one-sided"} scale`, () => {
      assert.equal(gaugePosition(watts, twoSided), expected);
    });
  }
});
