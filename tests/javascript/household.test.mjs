/** The inbox, the alert rules and the daily budget, without a browser. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { budgetEntries, preferencesOf, withEntries } from "../../wattgate/app/static/display/budget.js";
import { setCurrency } from "../../wattgate/app/static/display/format.js";
import { describeAlert, mergePage, withRead } from "../../wattgate/app/static/display/inbox.js";
import {
  buildRule,
  limitEntry,
  limitThreshold,
  parseAmount,
  ruleChoices,
  ruleSentence,
} from "../../wattgate/app/static/display/rules.js";
import { setLocale } from "../../wattgate/app/static/display/texts.js";

setCurrency("GBP");

const alert = (number, { read = false, ...others } = {}) => ({
  alertId: `a${number}`,
  createdAt: new Date(Date.UTC(2026, 10, 1, number)).toISOString(),
  readAt: read ? "2026-11-20T00:00:00Z" : null,
  priority: "LOW",
  data: null,
  alertType: { name: "High consumption", description: "More energy than usual" },
  notifications: [],
  ...others,
});
const page = (numbers, { unread = 0, before = null } = {}) => ({ alerts: numbers.map((n) => alert(n)), unread, before });
const ids = ({ alerts }) => alerts.map(({ alertId }) => alertId);

describe("an alert", () => {
  const said = (data) => describeAlert(alert(1, { data: { rule: "My rule", resource: "Electricity", ...data } }));

  test("of a rule says the value and the limit", () => {
    const energy = { kind: "THRESHOLD", value: 8.4123, threshold: "5", unit: "kWh" };
    assert.deepEqual(said(energy), { title: "My rule", body: "Electricity: 8.41 kWh. The limit is 5 kWh." });
    assert.match(said({ kind: "THRESHOLD", value: 3100, threshold: "3000", unit: "W" }).body, /3\.10 kW.*is 3 kW/);
    assert.match(said({ kind: "NO_DATA", value: 10_800, unit: "s" }).body, /no reading for 3 hours/);
    const pace = { kind: "PACE", value: 25_000, threshold: "20000", unit: "pence", period: "P1M" };
    assert.match(said(pace).body, /£250\.00 expected for the month. The budget is £200\.00/);
  });

  test("of an application says its message, the shortest first, and never markup", () => {
    const notifications = [
      { channel: "EMAIL", subject: "A long mail", text: "Dear customer" },
      { channel: "PUSH", subject: "Event at six", text: "Save energy from 18:00." },
    ];
    const push = describeAlert(alert(1, { notifications }));
    assert.deepEqual(push, { title: "Event at six", body: "Save energy from 18:00." });
    const mail = describeAlert(alert(1, { notifications: notifications.slice(0, 1) }));
    assert.deepEqual(mail, { title: "A long mail", body: "More energy than usual" });
  });

  test("without any text has the name of its type", () => {
    assert.equal(describeAlert(alert(1)).title, "High consumption");
    assert.deepEqual(describeAlert(alert(1, { alertType: null })), { title: "Alert", body: "" });
  });
});

describe("the list", () => {
  test("adds newer and older pages without repetition", () => {
    const first = mergePage(null, page([5, 4], { before: "c4" }), true);
    const newer = mergePage(first, page([6, 5], { unread: 1, before: "c5" }), true);
    assert.deepEqual([ids(newer), newer.unread, newer.before], [["a6", "a5", "a4"], 1, "c4"]);
    const older = mergePage(newer, page([3, 2]), false);
    assert.deepEqual([ids(older), older.before], [["a6", "a5", "a4", "a3", "a2"], null]);
  });

  test("starts again if more alerts have arrived than a page has", () => {
    const first = mergePage(null, page([2, 1]), true);
    const next = mergePage(first, page([9, 8], { before: "c8" }), true);
    assert.deepEqual([ids(next), next.before], [["a9", "a8"], "c8"]);
  });

  test("is bounded", () => {
    const many = Array.from({ length: 300 }, (_, index) => 400 - index);
    const full = mergePage(null, page(many, { before: "c101" }), true);
    assert.equal(mergePage(full, page([1], { before: "c" }), false).before, null);
    let grown = full;
    for (let newest = 429; newest < 1129; newest += 29) {
      const numbers = Array.from({ length: 30 }, (_, index) => newest - index);
      grown = mergePage(grown, page(numbers, { before: "c" }), true);
    }
    assert.deepEqual([grown.alerts.length, grown.before, ids(grown)[0]], [300, null, "a1125"]);
  });

  test("loses the alerts that a newest page no longer has, and keeps the newer and the older ones", () => {
    const known = mergePage(null, page([7, 6, 5, 4, 3], { before: "c3" }), true);
    const later = mergePage(known, page([6, 4], { before: "c4" }), true);
    assert.deepEqual([ids(later), later.before], [["a7", "a6", "a4", "a3"], "c3"]);
    const last = mergePage(known, page([7, 5]), true);
    assert.deepEqual([ids(last), last.before], [["a7", "a5"], null]);
    assert.deepEqual(mergePage(known, page([]), true).alerts, []);
    const older = mergePage(later, page([2, 1]), false);
    assert.deepEqual(ids(older), ["a7", "a6", "a4", "a3", "a2", "a1"]);
  });

  test("shows which alerts are read", () => {
    const inbox = mergePage(null, { alerts: [alert(3), alert(2), alert(1, { read: true })], unread: 2, before: null }, true);
    const readAt = ({ alerts }) => alerts.map((one) => one.readAt?.slice(0, 10) ?? null);
    assert.deepEqual(readAt(withRead(inbox, ["a3"], 1, "2026-11-23T00:00:00Z")), ["2026-11-23", null, "2026-11-20"]);
    const all = withRead(inbox, null, 0, "2026-11-23T00:00:00Z");
    assert.deepEqual([readAt(all), all.unread], [["2026-11-23", "2026-11-23", "2026-11-20"], 0]);
  });
});

describe("rules", () => {
  const electricity = {
    resourceId: "e", name: "Electricity", classifier: "electricity.consumption", fields: { ENERGY: "kWh", POWER: "W" },
  };
  const gas = { resourceId: "g", name: "Gas", classifier: "gas.consumption", fields: { ENERGY: "kWh" } };
  const cost = { resourceId: "c", name: "Cost", classifier: "electricity.consumption.cost", fields: { COST: "pence" } };
  const other = { resourceId: "t", name: "Room", classifier: "temperature", fields: { TEMPERATURE: "C" } };
  const types = ["THRESHOLD", "PACE", "NO_DATA"].map((ruleKind) => {
    return { alertTypeId: `type-${ruleKind}`, active: true, ruleKind };
  });
  const choices = ruleChoices([electricity, gas, cost, other], types);
  const choice = (form, id) => choices.find((one) => one.form === form && one.meter.resourceId === id);
  const entries = (values) => ({ amount: "3", period: "P1M", channels: ["INBOX"], ...values });

  test("are offered for the meters and the alert types that exist", () => {
    assert.deepEqual(choices.map(({ form, meter }) => `${form} ${meter.resourceId}`), [
      "power e", "day e", "day g", "pace e", "pace g", "pace c", "silence e", "silence g",
    ]);
    const inactive = [{ ...types[0], active: false }, types[2]];
    assert.deepEqual(ruleChoices([gas], inactive).map(({ form }) => form), ["silence"]);
    assert.deepEqual(ruleChoices([electricity], [{ ...types[0], ruleKind: null }]), []);
  });

  test("are built in the units of the gateway, and named by their words", () => {
    const power = buildRule(choice("power", "e"), entries({ amount: "3,5" })).input;
    assert.deepEqual([power.threshold, power.hysteresis, power.field, power.function], ["3500", "350", "POWER", "AVG"]);
    assert.deepEqual([power.name, power.alertTypeId], ["Electricity above 3.5 kW for 10 min", "type-THRESHOLD"]);
    const pace = buildRule(choice("pace", "c"), entries({ amount: "80" })).input;
    assert.deepEqual([pace.threshold, pace.period, pace.kind], ["8000", "P1M", "PACE"]);
    assert.equal(pace.name, "Cost will exceed £80.00 in the month");
    const silence = buildRule(choice("silence", "g"), entries({ amount: "6" })).input;
    assert.deepEqual([silence.windowMinutes, silence.kind, "threshold" in silence], [360, "NO_DATA", false]);
    assert.equal(buildRule(choice("day", "g"), entries()).input.windowMinutes, 1440);
    assert.equal("unit" in pace, false);
  });

  test("have problems in words", () => {
    const problem = (form, values) => buildRule(choice(form, "e"), entries(values)).problem;
    assert.equal(problem("power", { amount: "-1" }), "Enter a number above 0, without separators of thousands.");
    assert.equal(problem("power", { amount: "" }), "Enter a number above 0, without separators of thousands.");
    assert.equal(problem("power", { channels: [] }), "Choose where the alert is sent.");
    assert.match(problem("silence", { amount: "900" }), /744 hours/);
    assert.match(problem("silence", { amount: "0.01" }), /1 minute/);
  });

  test("of other apps have words as well", () => {
    const rule = { kind: "THRESHOLD", function: "SUM", side: "BELOW", unit: "kWh", windowMinutes: 1440, period: "P1D" };
    assert.equal(ruleSentence({ ...rule, threshold: "0.1" }, "Solar"), "Solar below 0.1 kWh in 24 hours");
    assert.equal(ruleSentence({ ...rule, side: "ABOVE", threshold: "5" }, "Gas"), "Gas above 5 kWh in 24 hours");
  });

  test("have limits that are edited in the units of people", () => {
    assert.deepEqual(limitEntry("3500.000000", "W"), { value: "3.5", unit: "kW" });
    assert.deepEqual(limitEntry("8000", "pence"), { value: "80", unit: "" });
    assert.deepEqual(limitEntry("80", "EUR"), { value: "80", unit: "" });
    assert.deepEqual(limitEntry("5.00", "kWh"), { value: "5", unit: "kWh" });
    assert.deepEqual([limitThreshold("2,2", "W"), limitThreshold("1.5", "kWh"), limitThreshold("x", "W")], ["2200", "1.5", null]);
  });

  test("take amounts with a point or a comma, and nothing else", () => {
    assert.deepEqual(["1.5", " 2,5 ", "0", "", "abc", "1e99", "Infinity", "0.0001", "1.2.3"].map(parseAmount), [
      1.5, 2.5, null, null, null, null, null, null, null,
    ]);
    assert.deepEqual(["0x10", "1e3", "+3", "1 500", "1,", ".5", ",25"].map((entry) => parseAmount(entry)), [
      null, null, null, null, 1, 0.5, 0.25,
    ]);
  });

  test("take no amount whose group sign could be a decimal sign", () => {
    const typed = ["1,500", "1.500", "12,345", "0,500", "1234,500", "2,25", "1,2345"];
    for (const [locale, expected] of [
      ["en-GB", [null, 1.5, null, 0.5, 1234.5, 2.25, 1.234]],
      ["fr-FR", [1.5, 1.5, 12.345, 0.5, 1234.5, 2.25, 1.234]],
      ["en-DE", [1.5, null, 12.345, 0.5, 1234.5, 2.25, 1.234]],
    ]) {
      setLocale(locale);
      assert.deepEqual(typed.map((entry) => parseAmount(entry)), expected, locale);
    }
    setLocale("en-GB");
  });

  test("take the limits that the page writes, unchanged", () => {
    for (const [locale, written] of [["en-GB", "1.234"], ["fr-FR", "1,234"], ["en-DE", "1,234"]]) {
      setLocale(locale);
      assert.equal(limitEntry("1.234", "kWh").value, written);
      for (const [threshold, unit] of [["1.234", "kWh"], ["12345", "kWh"], ["1234567", "W"], ["0.5", "m³"], ["1250", "pence"], ["12.5", "EUR"]]) {
        assert.equal(limitThreshold(limitEntry(threshold, unit).value, unit), threshold, `${threshold} ${unit}`);
      }
      const { budget } = budgetEntries({ dailyBudget: "1.234" });
      assert.deepEqual(withEntries({}, { budget, basis: "" }).preferences, { dailyBudget: "1.234" });
    }
    setLocale("en-GB");
  });
});

describe("the budget", () => {
  test("is read as the gateway reads it", () => {
    assert.deepEqual(budgetEntries(preferencesOf({ display: { dailyBudget: "2.50", ambientBasis: "PRICE" } })), {
      budget: "2.5", basis: "PRICE",
    });
    for (const display of [undefined, null, 3, "text", [], { dailyBudget: -1, ambientBasis: "MOON" }]) {
      assert.deepEqual(budgetEntries(preferencesOf({ display })), { budget: "", basis: "" });
    }
  });

  test("is stored beside what other apps have stored", () => {
    const known = { theme: "dark", dailyBudget: "1" };
    assert.deepEqual(withEntries(known, { budget: "2,75", basis: "" }).preferences, { theme: "dark", dailyBudget: "2.75" });
    assert.deepEqual(withEntries(known, { budget: " ", basis: "LEARNED" }).preferences, {
      theme: "dark", ambientBasis: "LEARNED",
    });
  });

  test("has problems in words", () => {
    assert.match(withEntries({}, { budget: "-3", basis: "" }).problem, /above 0/);
    assert.match(withEntries({}, { budget: "", basis: "BUDGET" }).problem, /Enter a budget/);
  });
});
