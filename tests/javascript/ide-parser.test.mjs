/** The parser of the IDE: every construct of GraphQL September 2025, and documents in the middle of typing. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { describe, test } from "node:test";

import { checkDocument } from "../../wattgate/app/static/ide/language/check.js";
import { complete } from "../../wattgate/app/static/ide/language/complete.js";
import { tokenize } from "../../wattgate/app/static/ide/language/lexer.js";
import { parse, parseAt } from "../../wattgate/app/static/ide/language/parser.js";
import { format } from "../../wattgate/app/static/ide/language/printer.js";
import { highlightGraphQL } from "../../wattgate/app/static/ide/editor/highlight.js";
import { SCHEMA, atCaret } from "./ide-schema.mjs";

/** Constructs by section of the specification. */
const VALID = {
  "short query": "{ a }",
  "operations": "query A { a } mutation B { b } subscription C { c }",
  "keywords are names": "query query { query mutation: fragment on: type true null subscription input(on: on) }",
  "descriptions": '"Why" query A("the id" $id: ID) { a } """\n  Long\n""" fragment F on T { a }',
  "aliases and arguments": '{ small: pic(size: 64, name: "x") large: pic(size: -1) }',
  "nested selections": "{ a { b { c } } d }",
  "fragments": "{ ...F ... on T { a } ... @include(if: true) { b } ... { c } ...onward } fragment F on T @d { a } fragment onward on T { a }",
  "numbers": "{ a(i: 0, j: -12, f: 1.5, g: -1e10, h: 6.02E+23) }",
  "strings": '{ a(s: "", t: "\\u00e9 \\u{1F600} \\" \\\\ \\n", u: "#{}") }',
  "block strings": '{ a(s: """""", t: """one "two" \\""" three""", u: """\n  a\n    b\n""") }',
  "other values": "{ a(b: true, c: false, n: null, e: EAST, l: [1, [2, 3]], o: {x: 1, y: {z: [$v]}}, v: $v) }",
  "variables": "query ($a: Int, $b: [ID!]! = [\"1\"], $c: In = {x: [1]} @d, $e: [[Int!]]) { a }",
  "directives": "query @a @a(x: 1) { f @b(y: $z) @c ...F @d }",
  "ignored": "\uFEFFquery,A{a,b,,c}#comment\n#\r\n#last",
  "variables without commas": "query($a:Int$b:Int){a(a:$a b:$b)}",
};

test("a text is parsed once for all parts of the page, and few texts are kept", () => {
  const first = parse("{ a }");
  assert.equal(parse("{ a }"), first);
  for (const text of ["{ b }", "{ c }", "{ d }", "{ a }", "{ e }"]) parse(text);
  assert.equal(parse("{ a }"), first);
  for (const text of ["{ b }", "{ c }", "{ d }", "{ e }"]) parse(text);
  assert.notEqual(parse("{ a }"), first);
});

describe("valid documents", () => {
  for (const [name, source] of Object.entries(VALID)) {
    test(name, () => assert.deepEqual(parse(source).problems, []));
  }
});

const INVALID = [
  ["", []],
  ["{", ["This \"{\" is not closed."]],
  ["{ }", ["Select at least one field."]],
  ["{ a } }", ['This "}" closes nothing.']],
  ["{ a( }", ['This "(" is not closed.']],
  ["{ a() }", ["Write an argument, or remove the parentheses."]],
  ["{ a(x) }", ['The argument "x" needs ":" and a value.']],
  ["{ a(x: ) }", ["Expected a value."]],
  ["{ a(x: $) }", ['Name a variable after "$".']],
  ["{ a(x: [1) }", ['This "[" is not closed.']],
  ["query Q", ['The operation needs a selection of fields in "{ }".']],
  ["query ($a) { a }", ['The variable needs ":" here.']],
  ["query ($a:) { a }", ["Expected a type."]],
  ["query ($a: [Int) { a }", ['The list needs "]" here.']],
  ["fragment on T { a }", ["The fragment needs a name."]],
  ["fragment F { a }", ['The fragment needs "on" here.']],
  ['"d" { a }', ['Write "query" after a description.']],
  ["type T { a: Int }", ['"type" defines a part of a schema. A document that runs has operations and fragments.']],
  ["{ a: }", ["Name a field after the alias."]],
  ["{ ... }", ['Name a fragment after "...", or write "on", a type and a selection.']],
  ["{ a @ }", ['Name a directive after "@".']],
  ["{ a ? }", ['The character "?" is not a part of GraphQL here.']],
  ["{ a(x: 'y') }", ["The character \"'\" is not a part of GraphQL here. Strings have double quotes."]],
  ['{ a(x: "y) }', ['The string has no end: add ".']],
  ['{ a(x: """y) }', ['The block string has no end: add """.']],
  ['{ a(x: "\\q") }', ['"\\q" is not an escape of GraphQL.']],
  ['{ a(x: "\\u{110000}") }', ['"\\u{110000}" is not a character.']],
  ["{ a(x: 01) }", ['"01" is not a number.']],
  ["{ a(x: 1.) }", ['"1." is not a number.']],
];

describe("problems", () => {
  for (const [source, expected] of INVALID) {
    test(JSON.stringify(source), () => {
      const messages = parse(source).problems.map(({ message }) => message);
      for (const message of expected) assert.ok(messages.includes(message), JSON.stringify(messages));
      if (!expected.length) assert.deepEqual(messages, []);
    });
  }
});

test("the parser continues after a problem", () => {
  const names = (source) => parse(source).definitions.map(({ name }) => name?.value);
  assert.deepEqual(names("query A { a ( } mutation B { b }"), ["A", "B"]);
  assert.deepEqual(names("foo { a } query B { b }"), ["B"]);
  assert.deepEqual(names("type T { a: Int } query B { b }"), ["B"]);
});

test("nesting is bounded, so that the stack suffices", () => {
  for (const source of ["{a".repeat(50_000), `{a(x:${"[".repeat(50_000)}`, `{a(x:${"{y:".repeat(50_000)}`, `query($a:${"[".repeat(50_000)}`]) {
    assert.ok(parse(source).problems.length > 0);
  }
});

describe("the caret", () => {
  for (const [marked, kind, prefix = ""] of [
    ["|", "definition"], ["qu|", "definition", "qu"], ["{ | }", "selection"], ["{ ho| }", "selection", "ho"], ["{ a { b } c|", "selection", "c"],
    ["{ a: |b }", "selection"], ["{ ...|}", "spread"], ["{ ...F| }", "spread", "F"], ["{ ... on |{ a } }", "typeCondition"], ["{ a(|) }", "argument"],
    ["{ a(x: |) }", "value"], ["{ a(x: [1, |]) }", "value"], ["{ a(x: {|}) }", "objectField"], ["{ a(x: {y: |}) }", "value"],
    ["{ a(x: $|) }", "variable"], ["{ a @|", "directive"], ["query (|) { a }", "variableDefinition"], ["query ($a: |) { a }", "inputType"],
    ["query ($a: [|", "inputType"], ["fragment F |", "fragmentOn"], ["query @|{ a }", "directive"], ["query ($a: Int = |", "value"],
  ]) {
    test(marked, () => {
      const { context } = parseAt(...atCaret(marked));
      assert.deepEqual([context?.kind, context?.prefix], [kind, prefix]);
    });
  }
  for (const marked of ["# co|mment", '{ a(x: "te|xt") }', '{ a(x: "open|', "{ a(x: 12|) }"]) {
    test(`nothing at ${marked}`, () => assert.equal(parseAt(...atCaret(marked)).context, null));
  }
});

/** Return all GraphQL documents of the documentation. */
function documents(folder = new URL("../../docs/", import.meta.url)) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const url = new URL(entry.name + (entry.isDirectory() ? "/" : ""), folder);
    if (entry.isDirectory()) return documents(url);
    if (!entry.name.endsWith(".md")) return [];
    return [...readFileSync(url, "utf8").matchAll(/```graphql\n([^]*?)```/g)].map(([, source]) => source);
  });
}

describe("documents of the guides", () => {
  const sources = documents().filter((source) => !/^\s*(?:type|directive|interface|input|extend|schema)\b/m.test(source));

  test("have no problems, and formatting twice changes nothing", () => {
    assert.ok(sources.length > 15);
    for (const source of sources) {
      assert.deepEqual(parse(source).problems, [], source);
      const formatted = format(source);
      assert.equal(format(formatted), formatted);
      const words = (text) => tokenize(text).map(({ text: word }) => word.trimEnd());
      assert.deepEqual(words(formatted), words(source));
    }
  });

  test("cut off anywhere, with a random change, never fail", () => {
    let seed = 19;
    const random = (limit) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % limit;
    };
    const pieces = ["{", "}", "(", ")", "[", "]", "$", "@", "...", ":", '"', '"""', "#", "!", "=", "on", "query", "\\", "é", "\n", "|", "0x", "&"];
    for (const source of sources) {
      for (let count = 0; count < 40; count += 1) {
        const cut = source.slice(0, random(source.length + 1));
        const at = random(cut.length + 1);
        const broken = cut.slice(0, at) + pieces[random(pieces.length)] + cut.slice(at + random(3));
        const caret = random(broken.length + 1);
        const { definitions, problems } = parseAt(broken, caret);
        complete(broken, caret, SCHEMA);
        checkDocument(definitions, SCHEMA);
        for (const { start, end } of problems) assert.ok(start >= 0 && end <= broken.length && start <= end, broken);
        const lines = highlightGraphQL(broken).map((line) => line.map(({ text }) => text).join(""));
        assert.equal(lines.join("\n"), broken);
      }
    }
  });
});
