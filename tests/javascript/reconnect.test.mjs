/** When the connection is opened again, by close code and by number of failures. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { backoffDelay, reactionTo, waitingTime } from "../../wattgate/app/static/shared/reconnect.js";

describe("backoff", () => {
  test("doubles with each failure, up to half a minute", () => {
    const spreads = [0, 1, 2, 3, 4, 5, 6, 1000].map((failures) => backoffDelay(failures).spread);
    assert.deepEqual(spreads, [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  });

  test("has full jitter", () => {
    const delay = backoffDelay(3);
    assert.equal(waitingTime(delay, 0), 0);
    assert.equal(waitingTime(delay, 0.5), 4000);
  });
});

describe("reaction to a close code", () => {
  for (const code of [1002, 1003, 1007, 1009, 1010, 4400, 4401, 4406, 4409, 4429]) {
    test(`${code} stops`, () => assert.deepEqual(reactionTo(code), { action: "stop" }));
  }

  for (const code of [1000, 1001, 1005, 1006, 1011, 1012, 1013, 4408, 4999]) {
    test(`${code} backs off`, () => assert.deepEqual(reactionTo(code), { action: "backOff" }));
  }

  test("4403 needs a new token", () => assert.deepEqual(reactionTo(4403), { action: "renewToken" }));

  for (const [code, spread] of [[4503, 5000], [4508, 2000]]) {
    test(`${code} waits for a random part of ${spread} ms`, () => {
      assert.deepEqual(reactionTo(code), { action: "wait", delay: { minimum: 0, spread, state: "reconnecting" } });
    });
  }

  test("4511 waits for the seconds of the reason and a random part of 5000 ms", () => {
    const delay = (minimum) => ({ action: "wait", delay: { minimum, spread: 5000, state: "reconnecting" } });
    assert.deepEqual(reactionTo(4511, "Retry in 12 s."), delay(12_000));
    for (const reason of ["", "Retry later.", "Retry in -1 s.", "Retry in 1e9 s.", "Retry in 123456 s."]) {
      assert.deepEqual(reactionTo(4511, reason), delay(0));
    }
  });

  for (const code of [4509, 4510]) {
    test(`${code} waits for half a minute to a minute`, () => {
      const reaction = reactionTo(code);
      assert.equal(reaction.action, "wait");
      assert.equal(reaction.delay.state, "displaced");
      assert.equal(waitingTime(reaction.delay, 0), 30_000);
      assert.equal(waitingTime(reaction.delay, 1), 60_000);
    });
  }
});
