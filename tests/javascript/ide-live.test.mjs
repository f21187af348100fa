/** Live subscriptions of the IDE: positions, the log of payloads, the chart, and close codes in words. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { explainClose } from "../../wattgate/app/static/ide/panels/close-reasons.js";
import { describeSeries, drawLine } from "../../wattgate/app/static/ide/panels/line-chart.js";
import { canResume, requestSince } from "../../wattgate/app/static/ide/panels/resume.js";
import { MAX_ENTRIES, MAX_POINTS, MAX_SERIES, StreamLog } from "../../wattgate/app/static/ide/panels/stream-log.js";
import { CLOSE_CODES } from "../../wattgate/app/static/shared/close-codes.js";
import { reactionTo } from "../../wattgate/app/static/shared/reconnect.js";

const request = (query, variables = {}, operationName = null) => ({ query, variables, operationName });

describe("the position", () => {
  const byVariable = "subscription S($ids: [ID!]!, $from: String) { readings(resourceIds: $ids, since: $from) { value } }";

  test("goes into the variable of the argument, which is null at the start", () => {
    assert.deepEqual(requestSince(request(byVariable, { ids: ["1"] }), null).variables, { ids: ["1"], from: null });
    assert.deepEqual(requestSince(request(byVariable, { ids: ["1"], from: "5-1" }), null).variables.from, "5-1");
    assert.deepEqual(requestSince(request(byVariable, { from: "5-1" }), "9-2").variables.from, "9-2");
  });

  test("replaces a literal, of the operation that runs", () => {
    const literal = "query Q { a }\nsubscription A { alerts(since: null) { id } }\nsubscription B { alerts(since: null, steps: true) { id } }";
    const after = requestSince(request(literal, {}, "B"), '1"2');
    assert.equal(after.query, literal.replace("since: null, steps", 'since: "1\\"2", steps'));
    assert.equal(requestSince(request(literal, {}, "B"), null).query, literal);
  });

  test("is of no use to a document without the argument", () => {
    const without = request("subscription { display(homeId: 1) { at } }");
    assert.equal(canResume(without), false);
    assert.equal(requestSince(without, "9-2"), without);
    assert.equal(canResume(request(byVariable)), true);
  });
});

describe("the log", () => {
  const reading = (value, more = {}) => ({ data: { readings: { value, unit: "W", field: "POWER", ...more } } });

  test("keeps a bounded number of payloads, points and series", () => {
    const log = new StreamLog();
    for (let index = 0; index < MAX_POINTS + MAX_ENTRIES; index += 1) log.add(reading(index), index);
    assert.deepEqual([log.count, log.entries.length, log.series[0].points.length], [500, MAX_ENTRIES, MAX_POINTS]);
    assert.equal(log.entries[0].number, 301);
    for (let index = 0; index < 100; index += 1) log.add(reading(1, { name: `home ${index}` }), 0);
    assert.equal(log.series.length, MAX_SERIES);
    log.clear();
    assert.deepEqual([log.count, log.entries, log.series], [0, [], []]);
  });

  test("separates numbers by their context", () => {
    const log = new StreamLog();
    log.add(reading(230, { at: "2026-01-01T00:00:10Z", resourceId: "0123456789abcdef-123456" }), 0);
    log.add(reading(2, { unit: "kWh", field: "ENERGY" }), 0);
    log.add({ data: { display: { today: { cost: { total: "3.47" } }, meterPointNumber: "2000012345678", list: [{ x: 1 }, { x: 2 }] } } }, 7);
    log.add({ data: null, errors: [{ message: "no" }] }, 8);
    const labels = log.series.map(({ label, unit, points }) => [label, unit, points[0].value]);
    assert.deepEqual(labels, [
      ["readings.value · POWER · …123456", "W", 230],
      ["readings.value · ENERGY", "kWh", 2],
      ["display.today.cost.total", "", 3.47],
      ["display.list.x", "", 1],
    ]);
    assert.equal(log.series[0].points[0].at, Date.parse("2026-01-01T00:00:10Z"));
  });

  test("sorts points by their time, and a reading that is sent again replaces itself", () => {
    const log = new StreamLog();
    for (const [value, second] of [[1, 1], [3, 3], [2, 2], [4, 3]]) log.add(reading(value, { at: `2026-01-01T00:00:0${second}Z` }), 0);
    assert.deepEqual(log.series[0].points.map(({ value }) => value), [1, 2, 4]);
  });
});

describe("the chart", () => {
  const points = (...values) => values.map((value, index) => ({ at: index * 60_000, value }));

  test("fills its box", () => {
    assert.deepEqual(drawLine(points(10, 30, 20), 100, 50), { line: "M0 50 L50 0 L100 25", low: 10, high: 30, last: { x: 100, y: 25 } });
  });

  test("draws one value and equal values as a line in the middle", () => {
    assert.equal(drawLine(points(4), 100, 50).line, "M0 25 L100 25");
    assert.equal(drawLine(points(0, 0), 100, 50).line, "M0 25 L100 25");
    assert.equal(drawLine(points(-4, -4), 100, 50).line, "M0 25 L100 25");
  });

  test("is described in words", () => {
    assert.equal(describeSeries({ label: "readings.value", unit: "W", points: points(10, 30, 20.5) }), "readings.value: 20.5 W now, from 10 W to 30 W, 3 values in 2 min.");
    assert.equal(describeSeries({ label: "x", unit: "", points: points(1234) }), "x: 1,234, one value so far.");
  });
});

describe("close codes", () => {
  test("have a reason of their own and say what happens next", () => {
    const texts = Object.keys(CLOSE_CODES).map((code) => explainClose(Number(code)));
    for (const text of texts) assert.doesNotMatch(text, /^The connection was closed\./);
    assert.equal(new Set(texts.map((text) => text.split(".")[0])).size, texts.length);
    assert.equal(explainClose(4403), "The credentials are missing, invalid, expired or revoked. Log in again to continue. (4403 FORBIDDEN)");
    for (const code of [...Array.from({ length: 16 }, (_, index) => 1000 + index), 3000, 4999, ...Object.keys(CLOSE_CODES).map(Number)]) {
      const text = explainClose(code);
      const connects = ["backOff", "wait"].includes(reactionTo(code).action);
      assert.equal(/connects again/.test(text), connects, text);
      assert.equal(/would fail too/.test(text), reactionTo(code).action === "stop", text);
      if (!connects) assert.doesNotMatch(text, /^The connection was closed\./);
    }
    assert.equal(explainClose(4999), "The connection was closed. The page connects again. (4999)");
  });
});
