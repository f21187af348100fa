/** Pairing of a screen: codes, polls, refusals, lost networks and clocks that are set, with a clock of the test. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { formatCountdown } from "../../wattgate/app/static/display/format.js";
import { Pairing, timeLeft } from "../../wattgate/app/static/display/pairing.js";
import { GatewayError } from "../../wattgate/app/static/shared/gateway.js";

const PENDING = { state: "PENDING", interval: 5, paired: null };
const APPROVED = { state: "APPROVED", interval: 5, paired: { token: "t", expiresAt: "1970-01-01T00:00:01.000Z" } };
const DENIED = { state: "DENIED", interval: 5, paired: null };

/** Timers and a clock that a test advances. Due timers run in order, each before later ones. */
class Bench {
  time = 1_000_000;
  timers = new Map();
  started = 0;
  claims = [];
  paired = [];
  phases = [];
  /** The answers to come. The last one is repeated. */
  startAnswers = [{ deviceCode: "d", userCode: "BCDF-2345", expiresIn: 600, interval: 5, qrCode: [] }];
  claimAnswers = [PENDING];

  constructor() {
    const timers = {
      schedule: (delay, name, callback) => this.timers.set(name, { due: this.time + delay, callback }),
      cancel: (name) => this.timers.delete(name),
    };
    this.pairing = new Pairing(
      {
        start: () => this.answer(this.startAnswers, () => (this.started += 1)),
        claim: (code) => this.answer(this.claimAnswers, () => this.claims.push([code, this.time])),
        now: () => this.time + this.clockError,
        timers,
        random: () => 1,
      },
      { onChange: ({ phase }) => this.phases.push(phase), onPaired: (paired) => this.paired.push(paired) },
    );
  }

  clockError = 0;
  onAnswer = () => {};

  async answer(answers, count) {
    count();
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    this.onAnswer();
    if (answer instanceof Error) throw answer;
    return answer;
  }

  async begin() {
    this.pairing.begin();
    await settled();
  }

  async advance(seconds) {
    const end = this.time + seconds * 1000;
    for (;;) {
      const next = [...this.timers].sort(([, a], [, b]) => a.due - b.due).find(([, { due }]) => due <= end);
      if (!next) break;
      this.time = Math.max(this.time, next[1].due);
      this.timers.delete(next[0]);
      next[1].callback();
      await settled();
    }
    this.time = end;
  }

  get state() {
    return this.pairing.state;
  }
}

const settled = () => new Promise((resolve) => { setImmediate(resolve); });
const error = (code, retryAfter) => new GatewayError("x", code, retryAfter);

describe("a pairing", () => {
  test("polls at the interval and ends with the credential", async () => {
    const bench = new Bench();
    await bench.begin();
    assert.equal(bench.state.phase, "waiting");
    assert.equal(bench.state.code.started.userCode, "BCDF-2345");
    assert.equal(bench.state.code.expiresAt, bench.time + 600_000);
    const beginning = bench.time;
    await bench.advance(14);
    assert.deepEqual(bench.claims, [["d", beginning + 5000], ["d", beginning + 10_000]]);
    bench.claimAnswers = [APPROVED];
    await bench.advance(1);
    assert.deepEqual(bench.paired, [APPROVED.paired]);
    assert.equal(bench.state.phase, "paired");
    await bench.advance(3600);
    assert.equal(bench.claims.length, 3);
  });

  test("polls less often when the gateway asks for it", async () => {
    const bench = new Bench();
    bench.claimAnswers = [{ ...PENDING, interval: 10 }];
    await bench.begin();
    await bench.advance(35);
    assert.equal(bench.claims.length, 4); // after 5, 15, 25 and 35 seconds
  });

  test("waits longer after too many requests, and keeps the code", async () => {
    const bench = new Bench();
    bench.claimAnswers = [error("RATE_LIMITED", 60), PENDING];
    await bench.begin();
    await bench.advance(64);
    assert.equal(bench.claims.length, 1);
    await bench.advance(1);
    assert.equal(bench.claims.length, 2);
    assert.equal(bench.state.phase, "waiting");
    await bench.advance(9);
    assert.equal(bench.claims.length, 2); // five seconds more between two polls
    await bench.advance(1);
    assert.equal(bench.claims.length, 3);
  });

  test("says no longer that there is no connection when the gateway limits its requests", async () => {
    const bench = new Bench();
    bench.claimAnswers = [error("UNREACHABLE"), error("RATE_LIMITED", 60), PENDING];
    await bench.begin();
    await bench.advance(5);
    assert.notEqual(bench.state.trouble, null);
    await bench.advance(10);
    assert.equal(bench.claims.length, 2);
    assert.equal(bench.state.trouble, null);
  });

  test("ends with a refusal of the user", async () => {
    const bench = new Bench();
    bench.claimAnswers = [DENIED];
    await bench.begin();
    await bench.advance(600);
    assert.equal(bench.state.phase, "denied");
    assert.equal(bench.state.code, null);
    assert.equal(bench.claims.length, 1);
  });

  test("asks once more when the code expires, and then says so", async () => {
    const bench = new Bench();
    await bench.begin();
    await bench.advance(599);
    assert.equal(bench.state.phase, "waiting");
    await bench.advance(1);
    assert.equal(bench.state.phase, "expired");
    assert.equal(bench.claims.at(-1)[1], 1_600_000);
    assert.equal(bench.timers.size, 0);
  });

  test("takes an approval of the last second", async () => {
    const bench = new Bench();
    await bench.begin();
    await bench.advance(599);
    bench.claimAnswers = [APPROVED];
    await bench.advance(1);
    assert.deepEqual(bench.paired, [APPROVED.paired]);
  });

  for (const code of ["BAD_INPUT", "NOT_FOUND", "FORBIDDEN"]) {
    test(`drops a code that the gateway refuses with ${code}`, async () => {
      const bench = new Bench();
      bench.claimAnswers = [error(code)];
      await bench.begin();
      await bench.advance(5);
      assert.equal(bench.state.phase, "expired");
    });
  }

  for (const code of ["UNREACHABLE", "UNAVAILABLE", "INTERNAL", "TIMED_OUT", undefined]) {
    test(`keeps the code after ${code ?? "a response of a proxy"}`, async () => {
      const bench = new Bench();
      bench.claimAnswers = [error(code), PENDING];
      await bench.begin();
      await bench.advance(5);
      assert.equal(bench.state.phase, "waiting");
      assert.equal(bench.state.trouble.kind, code === "UNREACHABLE" ? "offline" : "unavailable");
      await bench.advance(10);
      assert.equal(bench.state.trouble, null);
    });
  }

  test("drops a code that expires without a network", async () => {
    const bench = new Bench();
    bench.claimAnswers = [error("UNREACHABLE")];
    await bench.begin();
    await bench.advance(700);
    assert.equal(bench.state.phase, "expired");
  });
});

describe("the first request", () => {
  test("is repeated without a network, with growing pauses, and at once when the network is back", async () => {
    const bench = new Bench();
    const [answer] = bench.startAnswers;
    bench.startAnswers = [error("UNREACHABLE")];
    await bench.begin();
    assert.equal(bench.state.phase, "starting");
    assert.deepEqual(bench.state.trouble, { kind: "offline", retryAt: bench.time + 2000 });
    await bench.advance(2 + 3 + 5 + 9);
    assert.equal(bench.started, 5);
    bench.startAnswers = [answer];
    bench.pairing.retry();
    await bench.advance(0);
    assert.equal(bench.state.phase, "waiting");
    assert.equal(bench.started, 6);
  });

  test("waits as long as the gateway says after too many codes", async () => {
    const bench = new Bench();
    bench.startAnswers = [error("RATE_LIMITED", 90), bench.startAnswers[0]];
    await bench.begin();
    assert.deepEqual(bench.state.trouble, { kind: "limited", retryAt: bench.time + 90_000 });
    bench.pairing.retry();
    await bench.advance(89);
    assert.equal(bench.started, 1);
    await bench.advance(1);
    assert.equal(bench.state.phase, "waiting");
  });

  test("is repeated after an error of the gateway", async () => {
    const bench = new Bench();
    bench.startAnswers = [error("NOT_FOUND"), bench.startAnswers[0]];
    await bench.begin();
    assert.equal(bench.state.trouble.kind, "unavailable");
    await bench.advance(2);
    assert.equal(bench.state.phase, "waiting");
  });
});

describe("a pairing that is replaced", () => {
  test("ignores the responses to its requests", async () => {
    const bench = new Bench();
    bench.pairing.begin();
    bench.pairing.begin();
    await settled();
    assert.equal(bench.started, 2);
    assert.deepEqual(bench.phases, ["starting", "starting", "waiting"]);
  });

  test("is silent after it was cancelled", async () => {
    const bench = new Bench();
    await bench.begin();
    bench.claimAnswers = [APPROVED];
    const poll = bench.advance(5);
    bench.pairing.cancel();
    await poll;
    await bench.advance(600);
    assert.deepEqual(bench.paired, []);
    assert.equal(bench.state, null);
  });
});

test("a clock that is set hours ahead while the screen waits drops no code that the gateway still accepts", async () => {
  const bench = new Bench();
  await bench.begin();
  bench.clockError = 3 * 3_600_000;
  bench.onAnswer = () => { bench.clockError = 0; }; // as the header Date of each response sets it
  await bench.advance(5);
  assert.equal(bench.state.phase, "waiting");
  await bench.advance(5);
  assert.equal(bench.claims.length, 2);
});

test("a code is never valid for longer than at its start", async () => {
  const bench = new Bench();
  await bench.begin();
  const shown = [-700_000, -600, 0, 1, 1000, 600_000, 700_000].map((passed) =>
    formatCountdown(timeLeft(bench.state.code, bench.time + passed)));
  assert.deepEqual(shown, ["10:00", "10:00", "10:00", "10:00", "9:59", "0:00", "0:00"]);
});

test("a time that is left has minutes and seconds", () => {
  const texts = [600_000, 599_001, 60_000, 59_000, 1, 0, -5000].map(formatCountdown);
  assert.deepEqual(texts, ["10:00", "10:00", "1:00", "0:59", "0:01", "0:00", "0:00"]);
});
