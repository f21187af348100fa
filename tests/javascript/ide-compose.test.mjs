/** The explorer adds fields and arguments to a document and removes them, and leaves the rest of the text as it is. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { parse } from "../../wattgate/app/static/ide/language/parser.js";
import { Schema } from "../../wattgate/app/static/ide/language/schema.js";
import { Composer } from "../../wattgate/app/static/ide/panels/compose.js";

/** The types as introspection describes them. A field is `name(argument: Type, ...): Type`. */
const SCHEMA = new Schema({
  queryType: { name: "Query" },
  mutationType: { name: "Mutation" },
  subscriptionType: { name: "Subscription" },
  directives: [],
  types: [
    object("Query", "homes: [Home!]", "home(homeId: ID!): Home", "alerts(first: Int, after: String): AlertConnection", "node(id: ID!): Node"),
    object("Mutation", "rename(homeId: ID!, name: String!): Home"),
    object("Subscription", "readings(resourceIds: [ID!]!, since: String): Reading", "display(homeId: ID!): Display"),
    object("Home", "id: ID!", "homeId: ID!", "ownerId: ID", "name: String", "city: String", "old: Int", "resources: [Resource!]!"),
    object("Resource", "resourceId: ID!", "classifier: String", "current: Value", "readings(range: Range!, period: Period!, function: String): [Value!]!"),
    object("Value", "value: Float", "unit: String", "at: DateTime", "quality: Quality", "more: String"),
    object("Display", "at: DateTime", "today: Value"),
    object("Reading", "value: Float", "unit: String"),
    object("AlertConnection", "edges: [AlertEdge!]!", "pageInfo: PageInfo!"),
    object("AlertEdge", "node: Alert!", "cursor: String!"),
    object("Alert", "alertId: ID!", "title: String"),
    object("PageInfo", "hasNextPage: Boolean!", "endCursor: String"),
    object("Empty", "homes: [Home!]"),
    { kind: "INTERFACE", name: "Node", fields: object("", "id: ID!").fields, possibleTypes: [{ name: "Home" }, { name: "Alert" }] },
    ...["ID", "String", "Int", "Float", "Boolean", "DateTime", "Range"].map((name) => ({ kind: "SCALAR", name })),
    ...["Period", "Quality"].map((name) => ({ kind: "ENUM", name, enumValues: [] })),
  ],
});

function object(name, ...fields) {
  return { kind: "OBJECT", name, fields: fields.map(field) };
}

function field(text) {
  const [, name, , args = "", type] = /^(\w+)(\((.*)\))?: (.+)$/.exec(text);
  return { name, type: reference(type), args: args.split(", ").filter(Boolean).map(field), isDeprecated: name === "old" };
}

function reference(text) {
  if (text.endsWith("!")) return { kind: "NON_NULL", ofType: reference(text.slice(0, -1)) };
  if (text.startsWith("[")) return { kind: "LIST", ofType: reference(text.slice(1, -1)) };
  return { kind: "OBJECT", name: text };
}

function compose(text, kind = "query", name = null) {
  return new Composer(text, SCHEMA, { kind, name });
}

const path = (text) => text.split(".").map((name) => name.replace("on-", "..."));

describe("add a field", () => {
  for (const [title, before, where, after] of [
    ["to an empty document", "", "homes", "query Homes {\n  homes {\n    homeId\n    name\n    city\n  }\n}\n"],
    ["to one line", "{ homes { name } }", "homes.homeId", "{ homes { name homeId } }"],
    ["with its parents", "{ homes { name } }", "homes.resources.current.unit", "{ homes { name resources { current { unit } } } }"],
    [
      "to lines, before the comment of the next one",
      "query Q {\n\thomes {\n\t\tname # the name\n\t\t# at the end\n\t}\n}",
      "homes.homeId",
      "query Q {\n\thomes {\n\t\tname # the name\n\t\thomeId\n\t\t# at the end\n\t}\n}",
    ],
    ["to an empty selection", "query Q {\n  homes {\n    # nothing\n  }\n}", "homes.name", "query Q {\n  homes {\n    # nothing\n    name\n  }\n}"],
    ["to a field without a selection", "{ homes }", "homes.name", "{ homes { name } }"],
    ["that is there already", "{ homes { name } }", "homes.name", "{ homes { name } }"],
    ["that is there with an alias", "{ all: homes { name } }", "homes.homeId", "{ all: homes { name homeId } }"],
    ["of a fragment", "{ homes { ...H } }\nfragment H on Home { resources { classifier } }", "homes.resources.resourceId", "{ homes { ...H } }\nfragment H on Home { resources { classifier resourceId } }"],
    ["of a member type", "{ node(id: 1) { id } }", "node.on-Home.name", "{ node(id: 1) { id ... on Home { name } } }"],
    ["of a member type that is there", "{ node(id: 1) { ... on Home { homeId } } }", "node.on-Home.name", "{ node(id: 1) { ... on Home { homeId name } } }"],
    ["beside a member type that is empty", "{ node(id: 1) { id ... on Home { } } }", "node.on-Home.name", "{ node(id: 1) { id ... on Home {\n  name\n} } }"],
  ]) {
    test(title, () => assert.equal(compose(before).addField(path(where)).text, after));
  }

  test("as a page", () => {
    const page = "alerts(first: 10) { edges { node { alertId title } } pageInfo { hasNextPage endCursor } }";
    assert.equal(compose("{ homes { name } }").addField(["alerts"]).text, `{ homes { name } ${page} }`);
  });

  test("with required arguments as variables", () => {
    const added = compose("{ homes { name } }").addField(path("homes.resources.readings"));
    assert.equal(added.text, "query ($range: Range!, $period: Period!) { homes { name resources { readings(range: $range, period: $period) { value unit at quality } } } }");
    assert.deepEqual(added.added, [{ name: "range", type: "Range!" }, { name: "period", type: "Period!" }]);
  });

  test("with a variable that the operation has, or a new name if it has another type", () => {
    const reused = compose("query Q($homeId: ID!) { home(homeId: $homeId) { name } }", "query").addField(["node"]);
    assert.match(reused.text, /^query Q\(\$homeId: ID!, \$id: ID!\) /);
    const other = compose("query Q(\n  $homeId: String\n) { homes { name } }").addField(["home"]);
    assert.match(other.text, /^query Q\(\n {2}\$homeId: String\n {2}\$homeId2: ID!\n\) .* home\(homeId: \$homeId2\) /s);
    const same = compose("query Q($homeId: ID!) { homes { name } }").addField(["home"]);
    assert.deepEqual([same.added, /home\(homeId: \$homeId\)/.test(same.text)], [[], true]);
  });

  test("of another operation names those without a name", () => {
    const { text, operationName } = compose("{ homes { name } }\n", "mutation").addField(["rename"]);
    assert.match(text, /^query Homes \{ homes \{ name \} \}\n\nmutation Rename\(\$homeId: ID!, \$name: String!\) \{\n {2}rename\(homeId: \$homeId, name: \$name\) \{/);
    assert.equal(operationName, "Rename");
    const second = compose('"""About"""\n# why\nquery { homes { name } }', "mutation").addField(["rename"]).text;
    assert.match(second, /^"""About"""\n# why\nquery Homes \{ homes/);
  });

  test("to the operation of the given name", () => {
    const both = "query A { homes { name } }\nquery B { homes { name } }";
    assert.equal(compose(both, "query", "B").addField(path("homes.homeId")).text, "query A { homes { name } }\nquery B { homes { name homeId } }");
  });

  test("of a subscription replaces the other one and can resume", () => {
    const before = "query Q { homes { name } }\n\nsubscription S($homeId: ID!) { display(homeId: $homeId) { at } }";
    const { text, added, removed } = compose(before, "subscription").addField(["readings"]);
    assert.equal(text, "query Q { homes { name } }\n\nsubscription Readings($resourceIds: [ID!]!, $since: String) {\n  readings(resourceIds: $resourceIds, since: $since) {\n    value\n    unit\n  }\n}\n");
    assert.deepEqual([added.length, removed], [2, ["homeId"]]);
  });

  test("not to a document with problems of syntax", () => {
    for (const broken of ["{ homes { name }", "query Q( { homes { name } }", "{ homes { name } } }"]) {
      assert.equal(compose(broken).addField(path("homes.homeId")), null);
    }
  });
});

describe("remove a field", () => {
  for (const [title, before, where, after] of [
    ["of one line", "{ homes { homeId name city } }", "homes.name", "{ homes { homeId city } }"],
    ["at the start", "{ homes { homeId, name } }", "homes.homeId", "{ homes { name } }"],
    ["with its line", "query Q {\n  homes {\n    homeId\n    name\n  }\n}\n", "homes.homeId", "query Q {\n  homes {\n    name\n  }\n}\n"],
    ["but not its comment", "{\n  homes {\n    homeId # key\n    name\n  }\n}", "homes.homeId", "{\n  homes {\n    # key\n    name\n  }\n}"],
    ["with a parent that it leaves empty", "{ homes { homeId resources { current { unit } } } }", "homes.resources.current.unit", "{ homes { homeId } }"],
    ["with its operation", "query A { homes { name } }\n\nquery B { homes { homeId } }\n", "homes.name", "\nquery B { homes { homeId } }\n"],
    ["with its aliases", "{ homes { a: name homeId name } }", "homes.name", "{ homes { homeId } }"],
    ["of a fragment", "{ homes { ...H } }\nfragment H on Home { homeId name }", "homes.name", "{ homes { ...H } }\nfragment H on Home { homeId }"],
    ["that a fragment has alone", "{ homes { ...H } }\nfragment H on Home { name }", "homes.name", "{ homes { ...H } }\nfragment H on Home { __typename }"],
    ["of a member type", "{ node(id: 1) { id ... on Home { name } } }", "node.on-Home.name", "{ node(id: 1) { id } }"],
  ]) {
    test(title, () => assert.equal(compose(before).removeField(path(where)).text, after));
  }

  test("with its variables, unless another field uses them", () => {
    const before = "query Q($homeId: ID!, $range: Range!, $period: Period!) { home(homeId: $homeId) { name resources { readings(range: $range, period: $period) { unit } } } node(id: $range) { id } }";
    const { text, removed } = compose(before).removeField(path("home.resources.readings"));
    assert.equal(text, "query Q($homeId: ID!, $range: Range!) { home(homeId: $homeId) { name } node(id: $range) { id } }");
    assert.deepEqual(removed, ["period"]);
    assert.equal(compose("query Q ($homeId: ID!) { home(homeId: $homeId) { name } homes { name } }").removeField(["home"]).text, "query Q { homes { name } }");
    assert.deepEqual(compose("query Q($homeId: ID!) { home(homeId: $homeId) { name } }").removeField(["home"]), { text: "", operationName: "Q", added: [], removed: ["homeId"] });
  });

  test("undoes adding it", () => {
    for (const before of ["query Q {\n  homes {\n    name\n  }\n}\n", "query Q { homes { name } }"]) {
      for (const where of ["home", "homes.resources.readings", "alerts", "node.on-Home.name"]) {
        const added = compose(before).addField(path(where)).text;
        assert.equal(parse(added).problems.length, 0);
        assert.equal(compose(added).removeField(path(where)).text, before);
      }
    }
  });
});

describe("arguments", () => {
  test("are added as variables and removed with them", () => {
    const before = "{ homes { resources { readings(range: {start: 1}, period: P1D) { unit } } } }";
    const where = path("homes.resources.readings");
    const added = compose(before).addArgument(where, "function");
    assert.equal(added.text, "query ($function: String) { homes { resources { readings(range: {start: 1}, period: P1D, function: $function) { unit } } } }");
    assert.deepEqual(added.added, [{ name: "function", type: "String" }]);
    const removed = compose(added.text).removeArgument(where, "function");
    assert.equal(removed.text, before.replace("{", "query {"));
    assert.deepEqual(removed.removed, ["function"]);
  });

  test("are added to a field without arguments", () => {
    assert.equal(compose("query Q { alerts { edges { cursor } } }").addArgument(["alerts"], "after").text, "query Q($after: String) { alerts(after: $after) { edges { cursor } } }");
    assert.equal(compose("query Q { alerts(after: null) { edges { cursor } } }").removeArgument(["alerts"], "after").text, "query Q { alerts { edges { cursor } } }");
  });
});

describe("find a field", () => {
  test("in fragments, once for each alias, and not in a cycle", () => {
    const text = "{ homes { ...A name } }\nfragment A on Home { ...A second: name ... { third: name } ... on Other { name } }";
    const found = compose(text).find(path("homes.name"));
    assert.deepEqual(found.map(({ node, fragment }) => [node.alias?.value ?? null, fragment?.name.value ?? null]), [
      ["second", "A"], ["third", "A"], [null, null],
    ]);
  });
});
