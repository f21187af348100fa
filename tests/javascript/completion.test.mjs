/** Completion of the names of variables. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { MAX_OFFERED, findTypedName, insertionOf, offerNames } from "../../wattgate/app/static/preview/completion.js";

describe("the name that is typed at the caret |", () => {
  for (const [marked, expected] of [
    ["{{ po|", "po"],
    ["{{|", ""],
    ["{{ |", ""],
    ["a {{ home.na|me }}", "home.na"],
    ["{% if pow| %}", "pow"],
    ["{% for item in it|", "it"],
    ["{{ a | default: na|", "na"],
    ["{{ a }} {{ b|", "b"],
    ["{{- po|", "po"],
    ["po|", null],
    ["{{ a }} po|", null],
    ["{{ a | rou|", null],
    ["{{ a | |", null],
    ['{{ a | default: "th|', null],
    ["{{ 12|", null],
    ["{| ", null],
    [`{{ ${" ".repeat(600)}a|`, null],
  ]) {
    test(marked.slice(0, 40), () => {
      const caret = marked.lastIndexOf("|");
      const source = marked.slice(0, caret) + marked.slice(caret + 1);
      const typed = findTypedName(source, caret);
      assert.equal(typed?.prefix ?? null, expected);
      if (typed) assert.equal(source.slice(typed.start, caret), expected);
    });
  }
});

describe("names that are offered", () => {
  const names = ["power", "home.name", "recipient.name", "alert.name"];
  for (const [prefix, expected] of [
    ["", names],
    ["po", ["power"]],
    ["NAME", ["home.name", "recipient.name", "alert.name"]],
    ["a", ["alert.name", "home.name", "recipient.name"]],
    ["power", []],
    ["nothing", []],
  ]) {
    test(prefix || "all", () => assert.deepEqual(offerNames(names, prefix), expected));
  }

  test("are a few", () => {
    const many = Array.from({ length: 50 }, (_, index) => `name${index}`);
    assert.equal(offerNames(many, "name").length, MAX_OFFERED);
  });
});

describe("the source of an inserted variable", () => {
  for (const [name, expected] of [
    ["home.name", "{{ home.name }}"],
    ["days[].kwh", "{% for item in days %}{{ item.kwh }}{% endfor %}"],
    ["tips[]", "{% for item in tips %}{{ item }}{% endfor %}"],
  ]) {
    test(name, () => assert.equal(insertionOf(name), expected));
  }
});
