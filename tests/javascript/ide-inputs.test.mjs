/** Variables and headers of the IDE. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { completeHeader, isForbidden, parseHeaders } from "../../wattgate/app/static/ide/headers.js";
import { parseJson } from "../../wattgate/app/static/ide/language/json.js";
import { parse } from "../../wattgate/app/static/ide/language/parser.js";
import { checkVariables, completeVariables, variablesOf } from "../../wattgate/app/static/ide/variables.js";
import { SCHEMA, atCaret } from "./ide-schema.mjs";

const QUERY = "query Q($homeId: ID!, $range: TimeRange, $period: Period = P1D, $by: HomeBy, $ids: [ID!], $n: Int) { a }";
const declared = variablesOf(parse(QUERY).definitions, "Q");

describe("JSON", () => {
  for (const [source, message] of [
    ["{", 'This "{" is not closed.'], ["[1", 'This "[" is not closed.'], ['{"a" 1}', 'Write ":" and a value after the name.'],
    ['{"a": }', "Expected a value."], ['{"a": 1 "b": 2}', 'Expected ",".'], ['{"a": 1,}', "JSON has no comma before the end of an object or list."],
    ["{a: 1}", "Expected the name of a member in double quotes."], ['{"a": yes}', '"yes" is not a value of JSON. Write texts in double quotes.'],
    ['{"a": "b}', 'The text has no end: add ".'], ['{"a": "\\x"}', "The text has an escape that JSON does not have."],
    ['{"a": 1, "a": 2}', 'The member "a" is there twice.'], ["{} {}", "There is more after the end of the value."], ["// why", "Expected"],
  ]) {
    test(source, () => {
      const { problems, value } = parseJson(source);
      assert.equal(value, undefined);
      assert.ok(problems.some((problem) => problem.message.startsWith(message)) || message === "Expected", JSON.stringify(problems));
    });
  }

  test("all values, and an empty text as no variables", () => {
    const source = '{"a": [1, -2.5e3, true, null, "é\\n"], "b": {"c": {}}}';
    assert.deepEqual(parseJson(source).value, JSON.parse(source));
    assert.deepEqual(parseJson(" \n").value, {});
    assert.ok(parseJson("[".repeat(5_000)).problems.length);
  });

  test("a text that is cut off anywhere never fails", () => {
    const source = JSON.stringify({ a: [1, { b: "c\"d" }], e: { f: [true, null] } }, null, 2);
    for (let end = 0; end < source.length; end += 1) parseJson(source.slice(0, end), end);
  });
});

describe("problems of variables", () => {
  for (const [text, message, fix] of [
    ["", 'The operation needs "homeId" (ID!).'],
    ["[]", "Write the variables as a JSON object."],
    ['{"homid": "1"}', 'The operation has no variable "$homid". Did you mean "homeId"?', '"homeId"'],
    ['{"homeId": null}', "Null is not a ID!."],
    ['{"homeId": true}', "Expected a value of type ID."],
    ['{"homeId": "1", "n": 1.5}', "Expected a value of type Int."],
    ['{"homeId": "1", "period": "P1"}', 'Expected a value of the enum "Period": PT30M, P1D, DAY.', '"P1D"'],
    ['{"homeId": "1", "range": 1}', 'Expected an object of type "TimeRange".'],
    ['{"homeId": "1", "range": {}}', 'The input "TimeRange" needs "start" (String!).'],
    ['{"homeId": "1", "range": {"start": "x", "ende": "y"}}', 'The input "TimeRange" has no field "ende". Did you mean "end"?', '"end"'],
    ['{"homeId": "1", "by": {"homeId": "1", "name": "x"}}', 'The input "HomeBy" takes exactly one of its fields.'],
    ['{"homeId": "1", "ids": [1, true]}', "Expected a value of type ID."],
  ]) {
    test(text || "none", () => {
      const problems = checkVariables(text, declared, SCHEMA);
      const found = problems.find((problem) => problem.message === message);
      assert.ok(found, JSON.stringify(problems));
      assert.equal(found.fix?.text, fix);
    });
  }

  test("none", () => {
    const text = '{"homeId": 1, "range": {"start": "x"}, "period": "DAY", "ids": "one", "by": {"name": "x"}, "n": null}';
    assert.deepEqual(checkVariables(text, declared, SCHEMA), []);
    assert.deepEqual(checkVariables("{}", null, null), []);
    assert.deepEqual(checkVariables('{"homeId": "1"}', declared, null), []);
  });
});

const offered = (marked) => completeVariables(...atCaret(marked), declared, SCHEMA)?.items.map(({ insert }) => insert) ?? null;

describe("completion of variables", () => {
  for (const [marked, expected] of [
    ['{ "ho|', ['"homeId": ']],
    ['{ "homeId": "1", | }', ['"range": ', '"period": ', '"by": ', '"ids": ', '"n": ']],
    ['{ "period": "P|" }', ['"PT30M', '"P1D']], // the closing quote is there
    ['{ "period": | }', ['"PT30M"', '"P1D"', '"DAY"']],
    ['{ "range": { | } }', ['"start": ', '"end": ']],
    ['{ "range": { "s|": 1 } }', ['"start']],
  ]) {
    test(marked, () => assert.deepEqual(offered(marked), expected));
  }

  test("an empty editor gets all variables at once", () => {
    const [insert] = offered("|");
    assert.deepEqual(JSON.parse(insert), { homeId: "", range: { start: "" }, period: "PT30M", by: { homeId: "" }, ids: [], n: 0 });
  });
});

describe("headers", () => {
  test("a line is a header; an unknown one is sent too", () => {
    const { headers, problems } = parseHeaders("token: abc\n# not now: x\n\nX-My-Client:  one: two \nempty:");
    assert.deepEqual(headers, { token: "abc", "X-My-Client": "one: two" });
    assert.deepEqual(problems, []);
    assert.deepEqual(Object.entries(parseHeaders("__proto__: x").headers), [["__proto__", "x"]]);
  });

  for (const [line, message] of [
    ["Cookie: a=b", 'Browsers do not let a page send the header "Cookie". Remove it, or run the operation with curl.'],
    ["sec-fetch-mode: x", 'Browsers do not let a page send the header "sec-fetch-mode". Remove it, or run the operation with curl.'],
    ["Host: x", 'Browsers do not let a page send the header "Host". Remove it, or run the operation with curl.'],
    ["Content-Type: text/plain", 'The IDE sets the header "Content-Type" itself. Remove it.'],
    ["no colon", 'Write the header as "name: value": "no colon" has no colon.'],
    ["a b: c", '"a b" is not the name of a header.'],
    ["token: \u{1F600}", 'The value of "token" has a character that headers cannot have.'],
    ["token: a\nTOKEN: b", 'The header "TOKEN" is there already.'],
  ]) {
    test(line, () => assert.deepEqual(parseHeaders(line).problems.map((problem) => problem.message), [message]));
  }

  test("a method override is refused for methods that browsers refuse", () => {
    assert.ok(isForbidden("X-HTTP-Method-Override", "TRACE"));
    assert.ok(!isForbidden("X-HTTP-Method-Override", "PATCH"));
  });

  test("known headers are completed", () => {
    const labels = (marked) => completeHeader(...atCaret(marked))?.items.map(({ insert }) => insert) ?? null;
    assert.deepEqual(labels("token: a\nappl|"), ["applicationId: "]);
    assert.deepEqual(labels("user|: x"), ["userId"]);
    assert.equal(labels("token: a|"), null);
  });
});
