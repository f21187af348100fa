/** The parameters of an upload, and the words for times and months of a file. */

import assert from "node:assert/strict";
import test from "node:test";
import { formatMonth, formatSpan } from "../../wattgate/app/static/add-data/wording.js";
import { toQuery } from "../../wattgate/app/static/add-data/requests.js";

test("answers are parameters, and columns are one of them", () => {
  const settings = [
    { name: "times", value: "end" },
    { name: "columns", value: "time=Zeit" },
    { name: "columns", value: "value=Ertrag" },
    { name: "times", value: "start" },
  ];
  assert.equal(toQuery("h1", settings).toString(), "homeId=h1&times=start&column=time%3DZeit%7Cvalue%3DErtrag");
});

test("local times are shown as the file has them", () => {
  assert.match(formatSpan("2025-01-06T23:30:00", "2025-01-07T00:00:00"), /6 January 2025.*23:30.*7 January 2025.*00:00/);
  assert.match(formatSpan("2025-01-06T23:30:00+01:00", null), /^6 January 2025.*23:30$/);
  assert.equal(formatMonth("2025-03"), "March 2025");
});
