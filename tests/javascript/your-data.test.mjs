/** The words of the page of the own data: series, sizes, times, what is kept, and the name that confirms. */

import assert from "node:assert/strict";
import test from "node:test";
import { setLocale } from "../../wattgate/app/static/display/texts.js";
import { describeKept, describeSeries, formatDays, formatSize, isNameOf } from "../../wattgate/app/static/your-data/wording.js";

const TIMES = { firstTime: "2025-01-06T12:00:00Z", lastTime: "2026-02-01T12:00:00Z" };

test("a series has the words of the display, and another one its own name", () => {
  assert.equal(describeSeries({ name: "x", classifier: "electricity.consumption", ...TIMES }), "Electricity: 6 January 2025 to 1 February 2026");
  assert.equal(describeSeries({ name: "Heat pump", classifier: "heat", firstTime: null, lastTime: null }), "Heat pump: no readings");
  setLocale("fr-FR");
  assert.match(describeSeries({ name: "x", classifier: "gas.consumption", ...TIMES }), /^Gaz\s: du 6 janvier 2025 au 1.? février 2026$/);
  setLocale("en-GB");
});

test("sizes and times have the largest unit that fits", () => {
  const sizes = { 0: "0 byte", 999: "999 byte", 14_100: "14.1 kB", 1_234_567: "1.23 MB", 4_294_967_296: "4.29 GB" };
  for (const [bytes, shown] of Object.entries(sizes)) assert.equal(formatSize(Number(bytes)), shown);
  assert.equal(formatDays(2192), "6 years");
  assert.equal(formatDays(30), "30 days");
  assert.equal(formatDays(1), "1 day");
});

test("a private gateway keeps nothing for billing", () => {
  const own = describeKept(true, 0);
  assert.equal(describeKept(false, 2192).length, own.length + 2);
  assert.equal(describeKept(false, 0).length, own.length + 1);
  assert.ok(describeKept(false, 2192).some((words) => words.includes("for 6 years, because billing")));
  assert.ok(!own.some((words) => words.includes("billing")));
});

test("a typed name confirms, however it is spaced and capitalised", () => {
  for (const typed of ["My home", " my  HOME ", "My home\u00a0"]) assert.ok(isNameOf(typed, "My home"), typed);
  for (const typed of ["", "My hom", "My home 2"]) assert.ok(!isNameOf(typed, "My home"), typed);
  assert.ok(isNameOf("cafe\u0301", "Café"));
});
