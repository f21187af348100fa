/** Words for the parts of an amount of money. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { inclusionText, reasonText } from "../../wattgate/app/static/display/cost-basis.js";
import { setCurrency } from "../../wattgate/app/static/display/format.js";
import { basisText } from "../../wattgate/app/static/display/period-panel.js";

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

describe("the basis of the cost of a period", () => {
  const cost = {
    total: { amount: "5.29" },
    standingChargesWithVat: { amount: "0.85" },
    unpriced: { value: "0" },
    estimated: false,
  };

  test("has the amount of the standing charge", () => {
    assert.equal(basisText(cost), "incl. 85p standing charge and VAT");
  });

  test("says that energy is missing in it, or estimated", () => {
    const expected = "incl. 85p standing charge and VAT, partly without a price, partly estimated";
    assert.equal(basisText({ ...cost, unpriced: { value: "1.25" }, estimated: true }), expected);
  });
});

describe("the reason of an unknown cost", () => {
  for (const [reason, expected] of [["NO_TARIFF", "No tariff yet"], ["NO_PRICE", "No price"], [null, ""]]) {
    test(`${reason} is "${expected}"`, () => assert.equal(reasonText(reason), expected));
  }
});
