/** The columns of the history, from readings and costs. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { VIEWS, buildColumns, hasNoTariff, includesStandingCharge, isCostKnown, summarise } from "../../wattgate/app/static/display/history.js";

const DAY = 86_400_000;
const FIRST = Date.UTC(2026, 0, 1);

const iso = (instant) => new Date(instant).toISOString();

/** A series of whole days: values, and costs in pounds where given. Everything is collected. */
function series(values, { costs = null, quality = [], estimated = [], collectedTo = FIRST + 1000 * DAY } = {}) {
  const bucket = (value, index) => ({
    start: iso(FIRST + index * DAY),
    end: iso(FIRST + (index + 1) * DAY),
    value,
    quality: quality[index] ?? "ACTUAL",
    estimated: estimated[index] ?? 0,
  });
  return {
    readings: { unit: "kWh", collectedTo: collectedTo === null ? null : iso(collectedTo), buckets: values.map(bucket) },
    costs: costs && { currency: "GBP", buckets: costs },
  };
}

const cost = (energyCostWithVat, standingChargesWithVat = "0", unpriced = "0", noValueReason = null) => {
  return { energyCostWithVat, standingChargesWithVat, unpriced, noValueReason };
};
const marksOf = (columns) => columns.map(({ marks }) => [...marks]);
const LATER = FIRST + 100 * DAY;

describe("columns of an energy", () => {
  test("are the newest buckets, as many as the view shows", () => {
    const columns = buildColumns("gas", { gas: series([1, 2, 3, 4, 5, 6, 7, 8, 9]) }, "days", LATER);
    assert.equal(columns.length, VIEWS.days.count);
    assert.deepEqual(columns.map(({ value }) => value), [2, 3, 4, 5, 6, 7, 8, 9]);
    assert.deepEqual(columns.at(-1)?.parts, [["gas", 9]]);
    assert.equal(columns[0].start, FIRST + DAY);
  });

  test("have no parts where the value is missing", () => {
    const columns = buildColumns("gas", { gas: series([null, 0], { quality: ["MISSING", "PARTIAL"] }) }, "days", LATER);
    assert.deepEqual(columns.map(({ parts }) => parts), [[], [["gas", 0]]]);
    assert.deepEqual(marksOf(columns), [["missing"], ["gaps"]]);
  });

  test("are running until they end, and late until they are collected or two days old", () => {
    const quality = ["ACTUAL", "PARTIAL", "PARTIAL", "PARTIAL"];
    const read = series([1, 1, 1, 1], { collectedTo: FIRST + DAY, quality });
    const columns = buildColumns("gas", { gas: read }, "days", FIRST + 4 * DAY - 1);
    assert.deepEqual(marksOf(columns), [[], ["late"], ["late"], ["running"]]);
    const laterColumns = buildColumns("gas", { gas: read }, "days", FIRST + 4 * DAY);
    assert.deepEqual(marksOf(laterColumns), [[], ["gaps"], ["late"], ["late"]]);
  });

  test("that were never collected are late too", () => {
    const columns = buildColumns("gas", { gas: series([1], { collectedTo: null }) }, "days", FIRST + DAY);
    assert.deepEqual(marksOf(columns), [["late"]]);
  });

  test("are estimated if any of their readings is", () => {
    const columns = buildColumns("gas", { gas: series([1, 1], { estimated: [0, 3] }) }, "days", LATER);
    assert.deepEqual(marksOf(columns), [[], ["estimated"]]);
  });
});

describe("columns of the cost", () => {
  const home = (electricity, gas, options = {}) => ({
    electricity: series([1], { costs: [electricity], ...options }),
    gas: series([1], { costs: [gas], ...options }),
    exported: series([5], { costs: [cost("9.99")] }),
  });

  test("add up the energies and the standing charges in pounds, without the export", () => {
    const [column] = buildColumns("cost", home(cost("1.205", "0.53"), cost("0.795", "0.27")), "days", LATER);
    assert.deepEqual(column.parts, [["electricity", 1.205], ["gas", 0.795], ["standing", 0.8]]);
    assert.equal(Number(column.value?.toFixed(9)), 2.8);
    assert.equal(column.unit, "GBP");
  });

  test("have no standing charge in the view of hours", () => {
    const [column] = buildColumns("cost", home(cost("1", "0.53"), cost("0.5", "0.27")), "hours", LATER);
    assert.deepEqual(column.parts, [["electricity", 1], ["gas", 0.5]]);
  });

  test("have no value where no energy is priced, not even for the standing charge", () => {
    const unknown = home(cost(null, "0.53", "0", "NO_READINGS"), cost(null, "0.27", "2", "NO_PRICE"));
    const [column] = buildColumns("cost", unknown, "days", LATER);
    assert.equal(column.value, null);
    assert.deepEqual([...column.marks], ["noPrice"]);
  });

  test("have gaps where only one energy is missing", () => {
    const partial = {
      electricity: series([1], { costs: [cost("1")] }),
      gas: series([null], { costs: [cost(null)], quality: ["MISSING"] }),
    };
    const [column] = buildColumns("cost", partial, "days", LATER);
    assert.equal(column.value, 1);
    assert.deepEqual([...column.marks], ["gaps"]);
  });

  test("match readings and costs from the end", () => {
    const read = { electricity: series([1, 2, 3], { costs: [cost("2"), cost("3")] }) };
    const columns = buildColumns("cost", read, "days", LATER);
    assert.deepEqual(columns.map(({ value }) => value), [null, 2, 3]);
  });

  test("without any costs have no tariff", () => {
    const columns = buildColumns("cost", { electricity: series([1]) }, "days", LATER);
    assert.deepEqual(marksOf(columns), [["noTariff"]]);
    assert.equal(isCostKnown({ electricity: series([1]) }), false);
  });

  test("without readings are missing, although there is a tariff", () => {
    const read = { electricity: series([null], { costs: [cost(null, "0", "0", "NO_READINGS")], quality: ["MISSING"] }) };
    assert.deepEqual(marksOf(buildColumns("cost", read, "days", LATER)), [["missing"]]);
  });

  test("are late, and not without a tariff, while readings of the energy with a tariff may arrive", () => {
    const options = { collectedTo: null, quality: ["MISSING"] };
    const electricity = series([null], { costs: [cost(null, "0.53", "0", "NO_READINGS")], ...options });
    const [column] = buildColumns("cost", { electricity, gas: series([null], options) }, "days", FIRST + DAY);
    assert.deepEqual([...column.marks], ["late"]);
  });

  test("do not count the export", () => {
    const read = { electricity: series([1]), exported: series([5], { costs: [cost("9.99")] }) };
    assert.equal(isCostKnown(read), false);
    assert.equal(hasNoTariff(read), true);
  });

  test("say that the energy without a tariff is not in them", () => {
    const partial = { electricity: series([1], { costs: [cost("1")] }), gas: series([1]) };
    const [column] = buildColumns("cost", partial, "days", LATER);
    assert.deepEqual([column.value, ...column.marks], [1, "unpriced"]);
  });

  for (const view of ["hours", "days", "weeks", "months"]) {
    test(`in ${view} say whether the standing charge is in them, as the columns do`, () => {
      const read = { electricity: series([1], { costs: [cost("1", "0.53")] }) };
      const [column] = buildColumns("cost", read, view, LATER);
      const hasStanding = column.parts.some(([name]) => name === "standing");
      assert.deepEqual([isCostKnown(read), includesStandingCharge(view)], [true, hasStanding]);
      assert.equal(hasStanding, view !== "hours");
    });
  }
});

describe("summary", () => {
  const column = (value, ...marks) => ({ start: 0, end: 0, parts: [], value, marks: new Set(marks), unit: "kWh" });

  test("the mean is of complete columns only", () => {
    const complete = [column(2), column(4, "estimated")];
    const incomplete = [column(10, "late"), column(1, "running"), column(null, "missing")];
    assert.deepEqual(summarise([...complete, ...incomplete]), { total: 17, mean: 3 });
  });

  test("is null without known columns", () => {
    assert.deepEqual(summarise([]), { total: null, mean: null });
    assert.deepEqual(summarise([column(null, "missing")]), { total: null, mean: null });
    assert.deepEqual(summarise([column(1, "running")]), { total: 1, mean: null });
  });
});
