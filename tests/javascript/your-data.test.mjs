/** The words of the page of the own data: series, sizes, times, kept records, and the name that confirms. */

import assert from "node:assert/strict";
import test from "node:test";
import ownEn from "../../wattgate/app/static/your-data/texts/en.js";
import ownFr from "../../wattgate/app/static/your-data/texts/fr.js";
import { addTexts, setLocale } from "../../wattgate/app/static/display/texts.js";
import { describeUse, periodsOf } from "../../wattgate/app/static/your-data/answers.js";
import { describeKept, describeSeries, formatDays, formatSize, isNameOf } from "../../wattgate/app/static/your-data/wording.js";

addTexts({ en: ownEn, fr: ownFr });

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

const NOW = Date.parse("2026-10-25T12:00:00Z");
const HOME = { homeId: "h", name: "Home", timeZone: "Europe/London", resources: [] };
const FULL = { value: 40, completeness: 1 };

/** Return the sentences of the answers by their titles, with changes of a use that is complete. */
function answers(changes) {
  const comparison = { current: FULL, previous: { value: 50, completeness: 1 }, baselineIsShorter: false, changeRatio: -0.2 };
  const use = {
    standby: { days: 28, power: { value: 80 }, noPowerReason: null, yearlyEnergy: { value: 701 }, yearlyCostWithVat: { amount: "172", currency: "GBP" } },
    week: { unit: "kWh", comparison },
    month: { unit: "kWh", comparison: { ...comparison, changeRatio: 0.1 } },
    best: { start: "2026-10-26T01:30:00Z", end: "2026-10-26T03:30:00Z", meanRateWithVat: { amount: "0.09", currency: "GBP" } },
    soon: { start: "2026-10-25T12:00:00Z", end: "2026-10-25T14:00:00Z", meanRateWithVat: { amount: "0.25", currency: "GBP" } },
    priceCurve: [{ rateWithVat: { amount: "0.25" } }, { rateWithVat: { amount: "0.09" } }],
    ...changes,
  };
  return describeUse(use, HOME, NOW).map(({ sentences }) => sentences);
}

test("a week begins on Monday, and keeps its weekdays and the hours of the home when clocks change", () => {
  const { week, month } = periodsOf(NOW, "Europe/London");
  assert.deepEqual(week, { start: "2026-10-18T23:00:00.000Z", end: "2026-10-26T00:00:00.000Z" });
  assert.deepEqual(month, { start: "2026-09-30T23:00:00.000Z", end: "2026-11-01T00:00:00.000Z" });
});

test("standby power has watts and money, and the saving of a change", () => {
  const [standby] = answers({});
  assert.equal(standby[0], "Your home always draws about 80 W: 701 kWh and £172.00 a year.");
  assert.equal(standby[1], "Each 10 W less saves £21.50 a year.");
  assert.equal(standby.length, 2);
  const unknown = { days: 3, power: null, noPowerReason: "TOO_FEW_DAYS", yearlyEnergy: null, yearlyCostWithVat: null };
  assert.match(answers({ standby: unknown })[0][0], /at least 14/);
  assert.equal(answers({ standby: null })[0][0], "It is not known from these readings.");
  const [[words]] = answers({ standby: { ...unknown, days: 28, noPowerReason: null, power: { value: 80 }, yearlyEnergy: { value: 701 } } });
  assert.equal(words, "Your home always draws about 80 W: 701 kWh a year.");
});

test("only like is compared with like", () => {
  const of = (changes) => {
    const week = { unit: "kWh", comparison: { current: FULL, previous: FULL, baselineIsShorter: false, changeRatio: 0, ...changes } };
    return answers({ week })[1][0];
  };
  const [, [week, month]] = answers({});
  assert.match(week, /^This week so far: 40.0 kWh, 20% less .*\(50.0 kWh\)\.$/);
  assert.match(month, /^This month so far: 40.0 kWh, 10% more /);
  assert.match(of({}), /about as in/);
  assert.match(of({ previous: { value: null, completeness: 0 }, changeRatio: null }), /no readings of the same week/);
  assert.match(of({ previous: { value: 20, completeness: 0.5 } }), /Readings are missing/);
  assert.match(of({ baselineIsShorter: true }), /Readings are missing/);
  assert.match(answers({ week: { unit: "kWh", comparison: null } })[1][0], /no readings yet/);
});

test("the cheapest two hours are named only if the price changes", () => {
  const [, , cheapest] = answers({});
  assert.match(cheapest[0], /01:30 to .*03:30, at 9.*p for each kWh\.$/);
  assert.match(cheapest[1], /^That is 16.*p less/);
  assert.match(answers({ priceCurve: [{ rateWithVat: { amount: "0.25" } }] })[2][0], /^At any time/);
  assert.match(answers({ standby: null })[2][0], /at 9.*p for each kWh\.$/); // the price has a currency of its own
  assert.match(answers({ best: null })[2][0], /not known/);
  assert.equal(answers({ soon: null })[2].length, 1);
});
