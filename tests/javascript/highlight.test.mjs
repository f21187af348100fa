/** Syntax highlighting of templates and JSON. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { MAX_HIGHLIGHTED, highlightJson, highlightTemplate } from "../../wattgate/app/static/preview/highlight.js";

const written = (tokens) => tokens.map(({ kind, text }) => `${kind}:${text}`);
const joined = (tokens) => tokens.map(({ text }) => text).join("");

describe("templates", () => {
  for (const [source, expected] of [
    ["<p>Hi</p>", ["tag:<p>", "plain:Hi", "tag:</p>"]],
    ["a {{ b | round: 2 }} c", ["plain:a ", "variable:{{ b | round: 2 }}", "plain: c"]],
    ["{% if a %}b", ["statement:{% if a %}", "plain:b"]],
    ["<!-- <p>{{ a }} -->b", ["comment:<!-- <p>{{ a }} -->", "plain:b"]],
    ['<a href="x{{ y }}">', ["tag:<a", "plain: ", "attribute:href", "plain:=", 'string:"x', "variable:{{ y }}", 'string:"', "tag:>"]],
    ["<!doctype html>", ["tag:<!doctype", "plain: ", "attribute:html", "tag:>"]],
    ["1 < 2 { 3", ["plain:1 < 2 { 3"]],
    ["{{ never closed", ["plain:{{ never closed"]],
    ['<p class="never closed', ["tag:<p", "plain: ", "attribute:class", "plain:=", 'string:"never closed']],
  ]) {
    test(source, () => assert.deepEqual(written(highlightTemplate(source)), expected));
  }
});

describe("JSON", () => {
  for (const [source, expected] of [
    ['{"a": "b", "c": -1.5e3}', ["plain:{", 'attribute:"a"', "plain:: ", 'string:"b"', "plain:, ", 'attribute:"c"', "plain:: ", "number:-1.5e3", "plain:}"]],
    ['["\\"", null]', ["plain:[", 'string:"\\""', "plain:, ", "number:null", "plain:]"]],
    ['{"open', ['plain:{"open']],
  ]) {
    test(source, () => assert.deepEqual(written(highlightJson(source)), expected));
  }
});

test("tokens contain the whole source whatever it is", () => {
  const pieces = ["<", ">", "{{", "}}", "{%", "%}", '"', "'", "<!--", "-->", "a", " ", "=", "/", "\n", "{", "\\", "1"];
  for (let seed = 1; seed <= 200; seed += 1) {
    const source = Array.from({ length: 12 }, (_, index) => pieces[(seed * (index + 5) * 7 + index) % pieces.length]).join("");
    assert.equal(joined(highlightTemplate(source)), source);
    assert.equal(joined(highlightJson(source)), source);
  }
});

test("a source that is too long has no colours", () => {
  const source = "<p>".repeat(MAX_HIGHLIGHTED / 3 + 1);
  assert.deepEqual(written(highlightTemplate(source)), [`plain:${source}`]);
});

test("an open block does not take the next line", () => {
  assert.deepEqual(written(highlightTemplate("{{ a\n{{ b }}")), ["plain:{{ a\n", "variable:{{ b }}"]);
  assert.deepEqual(written(highlightTemplate(`{{${" ".repeat(1_000)}}}`)), [`plain:{{${" ".repeat(1_000)}}}`]);
});

test("the end of an open comment is searched for once", () => {
  let searches = 0;
  const indexOf = String.prototype.indexOf;
  String.prototype.indexOf = function count(...values) {
    searches += 1;
    return indexOf.apply(this, values);
  };
  try {
    highlightTemplate("<!-- ".repeat(1_000));
  } finally {
    String.prototype.indexOf = indexOf;
  }
  assert.equal(searches, 1);
});
