/** Days of a time zone, also those on which clocks change. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  instantOf,
  localTime,
  sameTimeOn,
  startOfDay,
  startOfMonth,
} from "../../wattgate/app/static/display/zone-days.js";

const HOUR = 3_600_000;
const LONDON = "Europe/London";
const at = (text) => Date.parse(text);
const iso = (instant) => new Date(instant).toISOString();

describe("the start of a day", () => {
  test("is midnight of the zone, in summer and in winter", () => {
    assert.equal(iso(startOfDay(at("2026-07-01T12:00Z"), LONDON)), "2026-06-30T23:00:00.000Z");
    assert.equal(iso(startOfDay(at("2026-06-30T23:30Z"), LONDON)), "2026-06-30T23:00:00.000Z");
    assert.equal(iso(startOfDay(at("2026-01-01T00:00Z"), LONDON)), "2026-01-01T00:00:00.000Z");
    assert.equal(iso(startOfDay(at("2026-07-01T12:00Z"), "Asia/Kathmandu")), "2026-06-30T18:15:00.000Z");
  });

  test("is counted by calendar days across clock changes", () => {
    const spring = startOfDay(at("2026-03-29T12:00Z"), LONDON);
    assert.equal((startOfDay(spring, LONDON, 1) - spring) / HOUR, 23);
    const autumn = startOfDay(at("2026-10-25T23:59Z"), LONDON);
    assert.equal((startOfDay(autumn, LONDON, 1) - autumn) / HOUR, 25);
    assert.equal(iso(startOfDay(at("2026-03-30T12:00Z"), LONDON, -7)), "2026-03-23T00:00:00.000Z");
  });

  test("is the change where clocks skip midnight", () => {
    const cairo = startOfDay(at("2026-04-24T12:00Z"), "Africa/Cairo");
    assert.equal(iso(cairo), "2026-04-23T22:00:00.000Z");
    assert.equal(new Date(localTime(cairo, "Africa/Cairo")).getUTCHours(), 1);
  });
});

test("months have their own lengths", () => {
  assert.equal(iso(startOfMonth(at("2026-03-31T22:30Z"), LONDON)), "2026-03-01T00:00:00.000Z");
  assert.equal(iso(startOfMonth(at("2026-03-31T23:30Z"), LONDON)), "2026-03-31T23:00:00.000Z");
  assert.equal(iso(startOfMonth(at("2026-03-15T00:00Z"), LONDON, -3)), "2025-12-01T00:00:00.000Z");
});

test("a local time that clocks show twice is the first of both instants", () => {
  assert.equal(iso(instantOf(Date.UTC(2026, 9, 25, 1, 30), LONDON)), "2026-10-25T00:30:00.000Z");
});

test("the same time of an earlier day is found across a clock change", () => {
  assert.equal(iso(sameTimeOn(at("2026-04-01T08:00Z"), LONDON, -7)), "2026-03-25T09:00:00.000Z");
  assert.equal(localTime(at("2026-04-01T08:00:12.500Z"), LONDON), Date.UTC(2026, 3, 1, 9, 0, 12, 500));
});
