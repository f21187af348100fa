/** The texts of a template's report. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { locationText, summarise } from "../../wattgate/app/static/preview/report.js";

const finding = (severity, part = "HTML", line = null) => {
  return { severity, part, line, code: "code", column: null, message: "", hint: null };
};

describe("summary of findings", () => {
  for (const [severities, expected] of [
    [[], "Ready to send"],
    [["ERROR"], "1 error"],
    [["INFO", "WARNING", "ERROR", "WARNING"], "1 error, 2 warnings, 1 note"],
    [["INFO", "INFO"], "2 notes"],
  ]) {
    test(expected, () => assert.equal(summarise(severities.map((severity) => finding(severity)), true), expected));
  }

  test("names that cannot be checked are not ready", () => {
    assert.equal(summarise([], false), "No errors; the alert type declares no variables");
  });
});

describe("location of a finding", () => {
  for (const [part, line, expected] of [
    ["HTML", 3, "HTML, line 3"],
    ["TEXT", 1, "Text, line 1"],
    ["HTML", null, "HTML"],
    ["SUBJECT", 1, "Subject"],
    ["PREHEADER", null, "Preheader"],
  ]) {
    test(expected, () => assert.equal(locationText(finding("ERROR", part, line)), expected));
  }
});
