/** The parameters of an upload, and the words for times and months of a file. */

import assert from "node:assert/strict";
import test from "node:test";
import dataEn from "../../wattgate/app/static/add-data/texts/en.js";
import dataFr from "../../wattgate/app/static/add-data/texts/fr.js";
import { addTexts } from "../../wattgate/app/static/display/texts.js";
import { formatMonth, formatSpan } from "../../wattgate/app/static/add-data/wording.js";
import { readAnswer, toQuery } from "../../wattgate/app/static/add-data/requests.js";

addTexts({ en: dataEn, fr: dataFr });

test("answers are parameters, and columns are one of them", () => {
  const settings = [
    { name: "times", value: "end" },
    { name: "columns", value: "time=Zeit" },
    { name: "columns", value: "value=Ertrag" },
    { name: "times", value: "start" },
  ];
  assert.equal(toQuery("h1", settings).toString(), "homeId=h1&times=start&column=time%3DZeit%7Cvalue%3DErtrag");
});

test("the last whole line of an answer counts, and an answer of another type is an error", () => {
  const answer = (/** @type {string} */ responseText, type = "application/x-ndjson") =>
    readAnswer({ status: 200, responseText, getResponseHeader: () => type });
  assert.equal(answer('{"progress":0.10}\n{"progress":0.42}\n{"progr').progress, 0.42);
  assert.equal(answer("").progress, undefined);
  assert.deepEqual(answer('{"progress":0.10}\n{"status":200,"result":{"added":2}}\n').body, { added: 2 });
  const refused = answer('{"status":429,"error":{"error":"Later."}}\n');
  assert.deepEqual([refused.status, refused.body], [429, { error: "Later." }]);
  assert.equal(answer('{"progress":0.10}\n').status, undefined); // the connection has ended
  assert.deepEqual(answer('{"error":"Gone"}', "application/json").body, { error: "Gone" });
  assert.equal(answer("<html>", "text/html").body, null);
});

test("local times are shown as the file has them", () => {
  assert.match(formatSpan("2025-01-06T23:30:00", "2025-01-07T00:00:00"), /6 January 2025.*23:30.*7 January 2025.*00:00/);
  assert.match(formatSpan("2025-01-06T23:30:00+01:00", null), /^6 January 2025.*23:30$/);
  assert.equal(formatMonth("2025-03"), "March 2025");
});
