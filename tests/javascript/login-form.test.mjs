/** Messages of the log-in form after a failed login. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { GatewayError } from "../../wattgate/app/static/shared/gateway.js";
import { explainLoginError } from "../../wattgate/app/static/shared/login-form.js";

const cases = [
  [new GatewayError("x", "UNAUTHENTICATED"), "The username or the password is wrong."],
  [new GatewayError("x", "UNREACHABLE"), "The gateway cannot be reached. Check the connection and try again."],
  [new GatewayError("x", "RATE_LIMITED", 1), "Too many attempts to log in. Try again in 1 second."],
  [new GatewayError("x", "RATE_LIMITED", 59), "Too many attempts to log in. Try again in 59 seconds."],
  [new GatewayError("x", "RATE_LIMITED", 60), "Too many attempts to log in. Try again in 1 minute."],
  [new GatewayError("x", "RATE_LIMITED", 841), "Too many attempts to log in. Try again in 15 minutes."],
  [new GatewayError("x", "RATE_LIMITED"), "Too many attempts to log in. Try again in 1 minute."],
  [new GatewayError("x", "UNAVAILABLE", 2), "The gateway cannot log you in at the moment. Try again in 2 seconds."],
  [new GatewayError("The gateway responded with status 502"), "The login failed: The gateway responded with status 502."],
  [new GatewayError("It is wrong.", "BAD_INPUT"), "The login failed: It is wrong."],
];

test("a code that is missing or wrong", () => {
  const error = new GatewayError("x", "SECOND_FACTOR_REQUIRED");
  assert.equal(explainLoginError(error), "Enter the code of your app, or a recovery code.");
  const wrong = "The code is wrong, has expired, or was used before. Enter the present one.";
  assert.equal(explainLoginError(error, true), wrong);
});

for (const [error, text] of cases) {
  test(`${error.code ?? "an error without a code"} after ${error.retryAfter ?? "no"} s: ${text}`, () => {
    assert.equal(explainLoginError(error), text);
  });
}
