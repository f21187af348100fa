/** The ranges of the history, and the comparison with the week before. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { compareColumns, matchEarlier } from "../../wattgate/app/static/display/comparison.js";
import { hasEarlier, historyWindow } from "../../wattgate/app/static/display/date-window.js";
import { comparisonText, rangeTitle } from "../../wattgate/app/static/display/date-words.js";
import { WallClock } from "../../wattgate/app/static/display/format.js";
import { setLocale } from "../../wattgate/app/static/display/texts.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const LONDON = "Europe/London";
const at = (text) => Date.parse(text);
const NOW = at("2026-11-23T10:00Z");
const spans = ({ start, end }) => [start, end].map((instant) => new Date(instant).toISOString().slice(0, 16));

describe("the newest range", () => {
  test("ends now, and is compared with the range of the same times a week before", () => {
    const { before, ...range } = historyWindow("hours", 0, NOW, LONDON);
    assert.deepEqual(range, { start: NOW - DAY, end: NOW, count: 24 });
    assert.deepEqual(before, { start: NOW - 8 * DAY, end: NOW - 7 * DAY });
  });

  test("has no comparison of weeks and months", () => {
    assert.deepEqual(["weeks", "months"].map((view) => historyWindow(view, 0, NOW, LONDON).before), [null, null]);
  });

  test("keeps the times of day in its comparison across a clock change", () => {
    const { before } = historyWindow("hours", 0, at("2026-10-28T10:00Z"), LONDON);
    assert.deepEqual(spans(before), ["2026-10-20T09:00", "2026-10-21T09:00"]);
  });
});

describe("an earlier range", () => {
  test("of hours is a whole day, of 23 or 25 hours when clocks change", () => {
    assert.deepEqual(spans(historyWindow("hours", 1, NOW, LONDON)), ["2026-11-22T00:00", "2026-11-23T00:00"]);
    const lengths = [["2026-10-26T10:00Z", 25], ["2026-03-30T10:00Z", 23]].map(([time, hours]) => {
      const { start, end } = historyWindow("hours", 1, at(time), LONDON);
      return (end - start) / HOUR - hours;
    });
    assert.deepEqual(lengths, [0, 0]);
  });

  test("is a week, four weeks or a year before, so weekdays and months keep their places", () => {
    assert.deepEqual(spans(historyWindow("days", 2, NOW, LONDON)), ["2026-11-02T00:00", "2026-11-10T00:00"]);
    assert.deepEqual(spans(historyWindow("weeks", 1, NOW, LONDON)), ["2026-09-27T23:00", "2026-10-27T00:00"]);
    assert.deepEqual(spans(historyWindow("months", 1, NOW, LONDON)), ["2024-11-01T00:00", "2025-12-01T00:00"]);
  });

  test("exists while there are readings before the present one", () => {
    assert.equal(hasEarlier("days", 0, NOW - 30 * DAY, NOW, LONDON), true);
    assert.equal(hasEarlier("days", 0, NOW - 5 * DAY, NOW, LONDON), false);
    assert.equal(hasEarlier("days", 4, NOW - 30 * DAY, NOW, LONDON), false);
    assert.equal(hasEarlier("hours", 0, null, NOW, LONDON), false);
  });
});

describe("the comparison", () => {
  const FIRST = at("2026-11-09T00:00Z");
  const column = (day, value, marks = []) => {
    return { start: FIRST + day * DAY, end: FIRST + (day + 1) * DAY, value, marks: new Set(marks) };
  };
  const week = (first, value) => Array.from({ length: 7 }, (_, index) => column(first + index, value));
  const compare = (columns, earlier) => compareColumns(columns, matchEarlier(columns, earlier, LONDON));

  test("adds up the same days of both weeks", () => {
    const compared = compare(week(7, 8.8), week(0, 10));
    assert.equal(Math.round(compared.current * 10), 616);
    assert.equal(Math.round(compared.ratio * 100), -12);
  });

  test("leaves out the days at the end that are not finished", () => {
    const columns = [...week(7, 5), column(14, 1, ["running"])];
    assert.equal(compare(columns, week(0, 10)).ratio, -0.5);
    columns[6] = column(13, 1, ["late"]);
    assert.equal(compare(columns, week(0, 10)).current, 30);
  });

  test("says nothing unless both weeks are complete", () => {
    const gaps = week(0, 10);
    gaps[3] = column(3, 4, ["gaps"]);
    assert.equal(compare(week(7, 5), gaps), null);
    assert.equal(compare([column(7, null, ["missing"]), ...week(8, 5)], week(0, 10)), null);
    assert.equal(compare([column(7, 5, ["late"]), ...week(8, 5)], week(0, 10)), null);
    assert.equal(compare(week(7, 5), week(0, 10).slice(1)), null);
    assert.equal(compare([column(7, 1, ["running"])], week(0, 10)), null);
    assert.equal(compare(week(7, 5), week(0, 0)), null);
    assert.equal(compare(week(7, 5), []), null);
  });

  test("finds the same time of day across a clock change", () => {
    const after = { start: at("2026-10-26T08:00Z"), value: 1, marks: new Set() };
    const before = { start: at("2026-10-19T07:00Z"), value: 2, marks: new Set() };
    assert.deepEqual(matchEarlier([after], [before], LONDON), [before]);
  });

  test("is in words of the language", () => {
    const change = (ratio) => ({ current: 1, previous: 1, ratio });
    assert.equal(comparisonText(change(-0.123), "days", 0), "12% less than the same days last week");
    assert.equal(comparisonText(change(0.05), "hours", 1), "5% more than the same day a week before");
    assert.equal(comparisonText(change(0.004), "hours", 0), "About the same as the same hours last week");
    assert.equal(comparisonText(change(0.5), "months", 0), "");
    assert.equal(comparisonText(null, "days", 0), "");
    setLocale("fr-FR");
    const words = comparisonText(change(-0.123), "days", 0).replace(/\s/g, " ");
    assert.equal(words, "12 % de moins que les mêmes jours de la semaine dernière");
    setLocale("en-GB");
  });
});

test("the title names the range, with the year unless it is this one", () => {
  const wallClock = new WallClock(LONDON);
  const columns = (start, end) => [{ start: at(start), end: at(end) }];
  const title = (view, steps, [start, end]) => rangeTitle(view, steps, columns(start, end), wallClock, NOW);
  assert.equal(title("days", 0, ["2026-11-16T00:00Z", "2026-11-24T00:00Z"]), "Last 8 days");
  assert.equal(title("days", 1, ["2026-11-09T00:00Z", "2026-11-17T00:00Z"]), "9 Nov to 16 Nov");
  assert.equal(title("hours", 1, ["2026-11-22T00:00Z", "2026-11-23T00:00Z"]), "Sunday 22 November");
  assert.equal(title("hours", 400, ["2025-10-19T23:00Z", "2025-10-20T23:00Z"]), "Monday 20 October 2025");
  assert.equal(title("months", 1, ["2024-11-01T00:00Z", "2025-12-01T00:00Z"]), "November 2024 to November 2025");
});
