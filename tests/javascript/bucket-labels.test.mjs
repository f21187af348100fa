/** Names and labels of the buckets of the history, also when clocks change. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { bucketName, bucketTick } from "../../wattgate/app/static/display/bucket-labels.js";
import { WallClock } from "../../wattgate/app/static/display/format.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const london = new WallClock("Europe/London");

const bucket = (start, length) => ({ start, end: start + length });

describe("names", () => {
  test("an hour", () => {
    assert.equal(bucketName("hours", bucket(Date.UTC(2026, 0, 15, 9), HOUR), london), "09:00 to 10:00");
  });

  test("the hours around a clock change", () => {
    assert.equal(bucketName("hours", bucket(Date.UTC(2026, 2, 29, 0), HOUR), london), "00:00 to 02:00");
    assert.equal(bucketName("hours", bucket(Date.UTC(2026, 9, 25, 0), HOUR), london), "01:00 to 01:00");
  });

  test("a day of 23 hours", () => {
    assert.equal(bucketName("days", bucket(Date.UTC(2026, 2, 29), 23 * HOUR), london), "Sunday 29 March");
  });

  test("a week ends on its last day", () => {
    const week = { start: Date.UTC(2026, 2, 23), end: Date.UTC(2026, 2, 29, 23) };
    assert.equal(bucketName("weeks", week, london), "23 Mar to 29 Mar");
  });

  test("a month that begins in summer time", () => {
    const july = { start: Date.UTC(2026, 5, 30, 23), end: Date.UTC(2026, 6, 31, 23) };
    assert.equal(bucketName("months", july, london), "July 2026");
  });
});

describe("labels", () => {
  const now = Date.UTC(2026, 0, 15, 12);

  test("every third hour has one, and every sixth hour a major one", () => {
    const labels = Array.from({ length: 24 }, (_, hour) => {
      return bucketTick("hours", bucket(Date.UTC(2026, 0, 15, hour), HOUR), london, now);
    });
    const shown = labels.filter((tick) => tick !== null);
    assert.deepEqual(shown.map(({ label }) => label), "00 03 06 09 12 15 18 21".split(" ").map((hour) => `${hour}:00`));
    assert.deepEqual(shown.map(({ minor }) => minor), [false, true, false, true, false, true, false, true]);
  });

  test("the current day and week have names", () => {
    const today = Date.UTC(2026, 0, 15);
    assert.deepEqual(bucketTick("days", bucket(today, DAY), london, now), { label: "Today", minor: false });
    assert.deepEqual(bucketTick("days", bucket(today - DAY, DAY), london, now), { label: "Wed", minor: false });
    const week = bucket(Date.UTC(2026, 0, 12), 7 * DAY);
    assert.equal(bucketTick("weeks", week, london, now)?.label, "This week");
    assert.equal(bucketTick("weeks", week, london, week.end)?.label, "12 Jan");
  });

  test("January has the year, and even months are minor", () => {
    const month = (index) => bucketTick("months", bucket(Date.UTC(2026, index, 1, 12), DAY), london, now);
    assert.deepEqual(month(0), { label: "2026", minor: false });
    assert.deepEqual(month(1), { label: "Feb", minor: true });
    assert.deepEqual(month(2), { label: "Mar", minor: false });
  });
});
