/** Checks, completion and format of documents in the IDE. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { analyze, findOperation } from "../../wattgate/app/static/ide/analysis.js";
import { complete } from "../../wattgate/app/static/ide/language/complete.js";
import { nearestName } from "../../wattgate/app/static/ide/language/nearest.js";
import { format } from "../../wattgate/app/static/ide/language/printer.js";
import { SCHEMA, atCaret } from "./ide-schema.mjs";

describe("problems with the schema", () => {
  for (const [source, message, fix] of [
    ["{ hmes { name } }", 'The type "Query" has no field "hmes". Did you mean "homes"?', "homes"],
    ["{ homes }", '"homes" is a Home: select its fields in "{ }".'],
    ["{ homes { name { a } } }", '"name" is a String and has no fields.'],
    ["{ home { name } }", 'The field "home" needs the argument "homeId" (ID!).'],
    ['{ home(homid: "1") { name } }', 'The field "home" has no argument "homid". Did you mean "homeId"?', "homeId"],
    ['{ home(homeId: "1", homeId: "2") { name } }', 'The argument "homeId" is there twice.'],
    ["{ home(homeId: null) { name } }", "Null is not a ID!."],
    ["{ home(homeId: true) { name } }", "Expected a value of type ID.", '"true"'],
    ["{ homes(first: 1.5) { name } }", "Expected a value of type Int."],
    ["{ homes(first: 3000000000) { name } }", "An Int has 32 bits: this number is too large."],
    ['{ readings(range: {start: "x"}, period: PT30) }', 'The enum "Period" has no value "PT30". Did you mean "PT30M"?', "PT30M"],
    ['{ readings(range: {start: "x"}, period: "P1D") }', 'Expected a value of "Period", without quotes.', "P1D"],
    ["{ readings(range: {}, period: P1D) }", 'The input "TimeRange" needs "start" (String!).'],
    ['{ readings(range: {start: "x", stop: "y"}, period: P1D) }', 'The input "TimeRange" has no field "stop".'],
    ['{ readings(range: {start: "x"}, period: P1D, by: {homeId: "1", name: "x"}) }', 'The input "HomeBy" takes exactly one of its fields.'],
    ['{ readings(range: {start: "x"}, period: P1D, by: {}) }', 'The input "HomeBy" takes exactly one of its fields.'],
    ['{ readings(range: "x", period: P1D) }', 'Expected an object of type "TimeRange".'],
    ["{ homes { name @inclde(if: true) } }", 'There is no directive "@inclde". Did you mean "include"?', "include"],
    ["{ homes { name @include } }", 'The directive "@include" needs the argument "if" (Boolean!).'],
    ['{ home(homeId: "1") { ... on Power { watts } } }', 'An object of type "Home" is never a "Power".'],
    ['{ node(id: "1") { ... on Hme { name } } }', 'There is no type "Hme". Did you mean "Home"?', "Home"],
    ["{ ...F } fragment F on ID { a }", '"ID" has no fields, so a fragment cannot be on it.'],
    ["{ ...G } fragment F on Query { homes { name } }", 'The fragment "G" is not defined. Did you mean "F"?', "F"],
    ["{ homes { name } } fragment F on Query { homes { name } }", 'The fragment "F" is not used.'],
    ["{ ...F } fragment F on Query { ...F }", "The fragment contains itself."],
    ["query ($id: ID!) { homes { name } }", 'The variable "$id" is not used.'],
    ["query ($homeId: ID!) { home(homeId: $homedId) { name } }", 'The variable "$homedId" is not defined. Did you mean "$homeId"?', "homeId"],
    ["query ($homeId: IDs!) { home(homeId: $homeId) { name } }", 'There is no type "IDs". Did you mean "ID"?', "ID"],
    ["query ($home: Home) { home(homeId: $home) { name } }", '"Home" is not a type of inputs.'],
    ["{ homes { name } } query B { homes { name } }", "With several operations, each needs a name."],
    ["query B { homes { name } } query B { homes { name } }", 'The name "B" is there twice.'],
  ]) {
    test(source, () => {
      const { problems } = analyze(source, SCHEMA);
      const found = problems.find((problem) => problem.message === message);
      assert.ok(found, JSON.stringify(problems.map((problem) => problem.message)));
      assert.equal(found.fix?.text, fix);
    });
  }

  for (const source of [
    '{ __typename homes { __typename } __schema { types { name } } __type(name: "Home") { name } }',
    'query ($a: [ID!] = "1") { readings(range: {start: "x"}, period: P1D, ids: $a, by: {name: "x"}) }',
    '{ node(id: 1) { id ... on Home { name } } found { ... on Node { id } __typename } }',
    "subscription ($id: ID!) { power(homeId: $id) { watts } }",
    "query @trace { homes(first: 5) { ...F @skip(if: true) } } fragment F on Home { name }",
  ]) {
    test(`none in ${source}`, () => assert.deepEqual(analyze(source, SCHEMA).problems, []));
  }

  test("without a schema, only what the document itself says", () => {
    assert.deepEqual(analyze("query ($a: X) { b(c: $a) }", null).problems, []);
    assert.equal(analyze("query { b(c: $a) }", null).problems.length, 1);
  });
});

test("names of the schema have documentation", () => {
  const { symbols } = analyze('{ readings(range: {start: "x"}, period: DAY) }', SCHEMA);
  assert.deepEqual(symbols.map(({ kind, name, owner, type }) => [kind, name, owner, type]), [
    ["field", "readings", "Query", "[Float]"], ["argument", "range", "readings", "TimeRange!"], ["inputField", "start", "TimeRange", "String!"],
    ["argument", "period", "readings", "Period!"], ["enumValue", "DAY", "Period", ""],
  ]);
  assert.equal(symbols[4].deprecationReason, "Use P1D.");
});

test("the operation that runs is the chosen one, else the one at the caret, else the first", () => {
  const { operations } = analyze("query A { a } mutation B { b }", null);
  assert.equal(findOperation(operations, "B", 2).name, "B");
  assert.equal(findOperation(operations, null, 20).kind, "mutation");
  assert.equal(findOperation(operations, "gone", -1).name, "A");
  assert.equal(findOperation([], "A", 0), null);
});

test("near names", () => {
  const names = ["homes", "resources", "homeId"];
  assert.equal(nearestName("hoems", names), "homes");
  assert.equal(nearestName("reosurces", names), "resources");
  assert.equal(nearestName("homid", names), "homeId");
  assert.equal(nearestName("alerts", names), null);
});

const labels = (marked) => complete(...atCaret(marked), SCHEMA)?.items.map(({ label }) => label) ?? null;

describe("completion", () => {
  for (const [marked, expected] of [
    ["|", ["query", "mutation", "subscription", "fragment"]],
    ["{ ho|", ["homes", "home", "house"]],
    ["{ homes { | } }", ["homeId", "name", "resources", "id", "__typename"]],
    ["mutation { | }", ["authenticate", "__typename"]],
    ["{ home(|) { name } }", ["homeId"]],
    ['{ readings(period: P1D, |) }', ["range", "by", "ids", "live"]],
    ["{ readings(period: |) }", ["PT30M", "P1D", "DAY"]],
    ["{ readings(period: P|) }", ["PT30M", "P1D"]],
    ["{ readings(live: |) }", ["true", "false", "null"]],
    ["{ readings(range: |) }", ["{ }"]],
    ["{ readings(range: {|}) }", ["start", "end"]],
    ["{ readings(by: {|}) }", ["homeId", "name"]],
    ["query ($b: Int, $a: ID!) { home(homeId: $|) }", ["a", "b"]],
    ["query ($a: ID!) { home(homeId: |) }", ["$a"]],
    ["query ($a: Per|) { a }", ["Period"]],
    ["query ($p: Period = |) { a }", ["PT30M", "P1D", "null", "DAY"]],
    ["{ homes { name @|", ["include", "skip"]],
    ["query @|{ a }", ["trace"]],
    ["{ homes { ...| } } fragment F on Home { name } fragment G on Login { token }", ["F", "on Home", "on Node", "on Found"]],
    ['{ node(id: 1) { ... on | } }', ["Home", "Resource", "Node", "Found"]],
    ["fragment F on H|", ["Home"]],
    ["fragment F |", ["on"]],
    ["{ found { ... on Resource { | } } }", ["resourceId", "name", "id", "__typename"]],
    ["{ gone { | } }", []],
    ['{ a(x: "|") }', null],
  ]) {
    test(marked, () => assert.deepEqual(labels(marked), expected));
  }

  test("a field brings its required arguments and its selection, where there are none", () => {
    const [home] = complete(...atCaret("{ home| }"), SCHEMA).items;
    assert.deepEqual([home.insert, home.caretBack, home.asks], ["home(homeId: ) {  }", 6, true]);
    const [only] = complete(...atCaret("{ homes|(first: 1) { name } }"), SCHEMA).items;
    assert.equal(only.insert, "homes");
  });

  test("deprecated members are last, and say why", () => {
    const items = complete(...atCaret("{ | }"), SCHEMA).items;
    assert.deepEqual([items.at(-1).label, items.at(-1).description], ["house", "Deprecated: Use home."]);
  });

  test("without a schema, keywords and the document's own names", () => {
    assert.equal(complete("", 0, null).items.length, 4);
    assert.deepEqual(complete(...atCaret("query ($id: ID) { a(b: $|) }"), null).items.map(({ label }) => label), ["id"]);
  });
});

describe("format", () => {
  for (const [source, expected] of [
    ["", ""],
    ["{a b}", "{\n  a\n  b\n}\n"],
    ["query A($x:Int=1,$y:[ID!]!){a:b(c:$x,d:{e:[1,2],f:E})@g{h}}", "query A($x: Int = 1, $y: [ID!]!) {\n  a: b(c: $x, d: {e: [1, 2], f: E}) @g {\n    h\n  }\n}\n"],
    ["query($x:Int){a}", "query($x: Int) {\n  a\n}\n"],
    ["{a}query B{b}", "{\n  a\n}\n\nquery B {\n  b\n}\n"],
    ["# top\n{ # open\n a # one\n # two\n b\n # end\n}\n# last", "# top\n{ # open\n  a # one\n  # two\n  b\n  # end\n}\n# last\n"],
    ["{ a\n\n\n b ...F ... on T{c} ...@x{d}}", "{\n  a\n\n  b\n  ...F\n  ... on T {\n    c\n  }\n  ... @x {\n    d\n  }\n}\n"],
    ['"Why" query A("id" $x: ID){a}', '"Why"\nquery A(\n  "id"\n  $x: ID\n) {\n  a\n}\n'],
    [`{ a(${"x".repeat(50)}: 1, ${"y".repeat(50)}: 2) }`, `{\n  a(\n    ${"x".repeat(50)}: 1\n    ${"y".repeat(50)}: 2\n  )\n}\n`],
    ["{ a(x: 1 # why\n y: 2) }", "{\n  a(\n    x: 1 # why\n    y: 2\n  )\n}\n"],
  ]) {
    test(JSON.stringify(source), () => assert.equal(format(source), expected));
  }

  test("a document with a syntax error stays", () => assert.equal(format("{ a( }"), null));
});
