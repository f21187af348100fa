/** Texts of the pairing page: errors, the first name, and when a display was last seen. */

import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";

import { DEFAULT_LOCALE, setLocale } from "../../wattgate/app/static/display/texts.js";
import { explainPairingError, firstName, formatLastSeen } from "../../wattgate/app/static/pair/wording.js";
import { GatewayError } from "../../wattgate/app/static/shared/gateway.js";

const HOUR = 3_600_000;
const NOW = Date.parse("2026-11-23T10:30:00Z");

afterEach(() => setLocale(DEFAULT_LOCALE));

describe("errors", () => {
  for (const [code, retryAfter, expected] of [
    ["UNREACHABLE", undefined, "The gateway cannot be reached. Check the connection and try again."],
    ["RATE_LIMITED", 65, "Too many wrong codes. Try again in 1:05."],
    ["INTERNAL", undefined, "The gateway cannot do this at the moment. Try again later."],
  ]) {
    test(`${code}: ${expected}`, () => {
      assert.equal(explainPairingError(new GatewayError("x", code, retryAfter)), expected);
    });
  }

  test("no code reveals whether it was right", () => {
    assert.match(explainPairingError(new GatewayError("x", "NOT_FOUND")), /^No screen is waiting with this code\./);
  });
});

describe("the first name", () => {
  test("is the one that the screen gave itself", () => assert.equal(firstName(" Study ", ["Study"]), "Study"));

  test("is the first room without a display", () => {
    assert.equal(firstName("", []), "Kitchen");
    assert.equal(firstName("", ["Kitchen", "Study"]), "Hall");
    assert.equal(firstName("", ["Kitchen", "Hall", "Living room"]), "");
    setLocale("fr");
    assert.equal(firstName("", ["Kitchen"]), "Cuisine");
  });
});

describe("the last use", () => {
  for (const [hours, expected] of [
    [-1, "Last seen this hour"], // the clock of the phone is slow
    [0, "Last seen this hour"],
    [1.5, "Last seen 1 hour ago"],
    [23, "Last seen 23 hours ago"],
    [25, "Last seen yesterday"],
    [24 * 40, "Last seen 40 days ago"],
  ]) {
    test(`${hours} hours ago`, () => {
      assert.equal(formatLastSeen(new Date(NOW - hours * HOUR).toISOString(), NOW), expected);
    });
  }

  test("is in the language of the page", () => {
    setLocale("fr");
    assert.equal(formatLastSeen(new Date(NOW - 50 * HOUR).toISOString(), NOW), "Vu avant-hier");
  });
});
