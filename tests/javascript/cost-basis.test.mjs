/** Words for the parts of an amount of money. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { inclusionText, reasonText } from "../../wattgate/app/static/display/cost-basis.js";
import { setCurrency } from "../../wattgate/app/static/display/format.js";
import { limitTexts } from "../../wattgate/app/static/display/period-panel.js";

setCurrency("GBP");

describe("the text about the parts of an amount", () => {
  for (const [includesStandingCharge, expected] of [
    [true, "incl. standing charge and VAT"],
    [false, "incl. VAT, without standing charge"],
  ]) {
    test(`is "${expected}"`, () => assert.equal(inclusionText(includesStandingCharge), expected));
  }

  test("has the amount of the standing charge if it is known", () => {
    assert.equal(inclusionText(true, "53p"), "incl. 53p standing charge and VAT");
  });
});

describe("the limits of the amounts of a period", () => {
  const amount = { energy: { value: "1", unit: "KILOWATT_HOUR" }, estimated: false, unknownShare: null, completeTo: "2026-11-17T06:00:00Z" };
  const cost = { total: { amount: "5.29" }, standingChargesWithVat: { amount: "0.85" }, unpriced: [], estimated: false };
  const at = "2026-11-17T18:00:00Z";
  const period = { start: "2026-11-17T00:00:00Z", electricity: amount, gas: null, exported: null, cost, noCostReason: null };

  for (const [name, changes, expected] of [
    ["none", {}, []],
    ["energy without a price", { cost: { ...cost, unpriced: [{ value: "1.25" }] } }, ["partly without a price"]],
    ["an estimated cost", { cost: { ...cost, estimated: true } }, ["partly estimated"]],
    ["estimated energy that has no cost", { cost: null, gas: { ...amount, estimated: true } }, ["partly estimated"]],
    ["an unknown share", { gas: { ...amount, unknownShare: 0.12 } }, ["12% of the time unknown"]],
    ["the greatest unknown share", {
      electricity: { ...amount, unknownShare: 0.5 }, gas: { ...amount, unknownShare: 0.12 },
    }, ["50% of the time unknown"]],
    ["no share of the time since the newest reading", { gas: { ...amount, unknownShare: 0.67 } }, []],
    ["no share of a time without any reading", {
      gas: { ...amount, energy: null, unknownShare: 1, completeTo: "2026-11-17T00:00:00Z" },
    }, []],
    ["a cost of standing charges alone", { noCostReason: "NO_READINGS" }, ["No readings"]],
    ["no cost, whose reason stands for it", { cost: { ...cost, total: null }, noCostReason: "NO_PRICE" }, []],
    ["several", {
      cost: { ...cost, unpriced: [{ value: "2" }], estimated: true }, electricity: { ...amount, unknownShare: 0.04 },
    }, ["partly without a price", "partly estimated", "4% of the time unknown"]],
  ]) {
    test(`are ${name}`, () => assert.deepEqual(limitTexts({ ...period, ...changes }, at), expected));
  }
});

describe("the reason of an unknown cost", () => {
  for (const [reason, expected] of [["NO_TARIFF", "No tariff yet"], ["NO_PRICE", "No price"], [null, ""]]) {
    test(`${reason} is "${expected}"`, () => assert.equal(reasonText(reason), expected));
  }
});
