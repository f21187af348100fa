/** Named timers. The tests rely only on their order, and leave 200 ms for a pause of the machine between two lines. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { TimerQueue } from "../../wattgate/app/static/shared/timer-queue.js";

const DAY = 86_400_000;

/** Return a promise that is resolved by a timer behind all those that were scheduled with shorter delays. */
function after(timers, delay) {
  return new Promise((resolve) => { timers.schedule(delay, `after ${delay}`, () => resolve(undefined)); });
}

describe("timer queue", () => {
  test("runs callbacks in the order of their delays", async () => {
    const timers = new TimerQueue();
    const ran = [];
    timers.schedule(201, "second", () => ran.push("second"));
    timers.schedule(1, "first", () => ran.push("first"));
    assert.equal(timers.size, 2);
    await after(timers, 211);
    assert.deepEqual(ran, ["first", "second"]);
    assert.equal(timers.size, 0);
  });

  test("runs callbacks in the order of their delays when all are due at once", async () => {
    const timers = new TimerQueue();
    const ran = [];
    timers.schedule(201, "second", () => ran.push("second"));
    timers.schedule(1, "first", () => ran.push("first"));
    const finished = after(timers, 202);
    for (const start = performance.now(); performance.now() - start < 210; ); // the timer is late
    await finished;
    assert.deepEqual(ran, ["first", "second"]);
  });

  test("replaces an entry of the same name", async () => {
    const timers = new TimerQueue();
    const ran = [];
    timers.schedule(1, "name", () => ran.push("replaced"));
    timers.schedule(10, "name", () => ran.push("current"));
    assert.equal(timers.size, 1);
    await after(timers, 20);
    assert.deepEqual(ran, ["current"]);
  });

  test("does not run entries that were cancelled or cleared", async () => {
    const timers = new TimerQueue();
    const ran = [];
    timers.schedule(1, "cancelled", () => ran.push("cancelled"));
    timers.cancel("cancelled");
    timers.cancel("unknown");
    await after(timers, 10);
    timers.schedule(1, "cleared", () => ran.push("cleared"));
    timers.clear();
    assert.equal(timers.size, 0);
    await after(timers, 10);
    assert.deepEqual(ran, []);
  });

  test("a callback may schedule its own name again", async () => {
    const timers = new TimerQueue();
    let count = 0;
    await new Promise((resolve) => {
      const tick = () => (++count < 3 ? timers.schedule(1, "tick", tick) : resolve(undefined));
      tick();
    });
    assert.equal(count, 3);
    assert.equal(timers.size, 0);
  });

  test("a delay beyond the range of a browser timer does not run early, nor overflow the timer", async () => {
    const timers = new TimerQueue();
    const [ran, warnings] = [[], []];
    const onWarning = ({ name }) => warnings.push(name);
    process.on("warning", onWarning);
    timers.schedule(30 * DAY, "month", () => ran.push("month"));
    await after(timers, 10);
    await after(new TimerQueue(), 10);
    process.off("warning", onWarning);
    assert.deepEqual([ran, warnings], [[], []]);
    assert.equal(timers.size, 1);
    timers.clear();
  });

  test("an entry can run before it is due, once", async () => {
    const timers = new TimerQueue();
    const ran = [];
    timers.schedule(DAY, "tomorrow", () => ran.push("tomorrow"));
    timers.runNow("tomorrow");
    timers.runNow("tomorrow");
    timers.runNow("never");
    assert.deepEqual(ran, ["tomorrow"]);
    assert.equal(timers.size, 0);
  });
});
