/** Pure parts of the IDE's panels: values of the caller, search, costs, copies and trusted documents. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";

import { Schema } from "../../wattgate/app/static/ide/language/schema.js";
import { prepareGuide, variablesIn } from "../../wattgate/app/static/ide/panels/guide-variables.js";
import { operationText } from "../../wattgate/app/static/ide/panels/operation-text.js";
import { NOTHING, fillVariables, readOwnData } from "../../wattgate/app/static/ide/panels/own-values.js";
import { nameOf, searchSchema, usesOf } from "../../wattgate/app/static/ide/panels/schema-search.js";
import { describeBudget, formatShare, pollingCosts } from "../../wattgate/app/static/ide/panels/spending.js";
import { bodyById, digestOf, fileName, registerCommands } from "../../wattgate/app/static/ide/panels/trust.js";
import { readRateLimit } from "../../wattgate/app/static/shared/rate-limit.js";

const NOW = Date.parse("2026-11-23T06:30:00Z");
const OWN = {
  ...NOTHING,
  applicationId: "app",
  userId: "user",
  homes: [
    { homeId: "empty", timeZone: null, resources: [] },
    { homeId: "home", timeZone: "Europe/Paris", resources: [
      { resourceId: "gas", classifier: "gas.consumption", resourceTypeId: "g" },
      { resourceId: "power", classifier: "electricity.consumption", resourceTypeId: "e" },
    ] },
  ],
};

const named = (name) => ({ kind: "OBJECT", name });
const field = (name, type, more = {}) => ({ name, type: named(type), args: [], ...more });
const SCHEMA = new Schema({
  queryType: { name: "Query" }, mutationType: null, subscriptionType: null, directives: [],
  types: [
    { kind: "OBJECT", name: "Query", fields: [field("readings", "Series"), field("home", "Home", { args: [field("order", "Order")] })] },
    { kind: "OBJECT", name: "Home", fields: [field("readings", "Series"), field("oldReadings", "Series", { isDeprecated: true }), field("name", "String", { description: "How people call it; not in readings." })] },
    { kind: "OBJECT", name: "Series", description: "Readings in buckets", fields: [field("total", "Float")] },
    { kind: "ENUM", name: "Order", enumValues: [{ name: "NEWEST" }, { name: "OLDEST" }] },
    { kind: "INPUT_OBJECT", name: "NewHome", inputFields: [{ name: "name", type: { kind: "NON_NULL", ofType: named("String") } }, { name: "city", type: named("String") }] },
    ...["String", "Float", "Int", "Boolean", "ID"].map((name) => ({ kind: "SCALAR", name })),
  ],
});

const fill = (definitions, own = OWN) => fillVariables(variablesIn(`query Q(${definitions}) { a }`), own, SCHEMA, NOW);

describe("variables", () => {
  test("get values of the caller", () => {
    const { values, missing } = fill(`$homeId: ID!, $resourceId: ID!, $resourceIds: [ID!]!, $resourceTypeId: ID!, $start: DateTime!, $end: DateTime,
      $range: TimeRange!, $period: Period!, $timeZone: TimeZone, $since: String, $userId: ID!, $homeId2: ID, $ids: [ID!]`);
    assert.deepEqual(values, {
      homeId: "home", resourceId: "power", resourceIds: ["power"], resourceTypeId: "e",
      start: "2026-11-16T00:00:00Z", end: "2026-11-23T00:00:00Z",
      range: { start: "2026-11-16T00:00:00Z", end: "2026-11-23T00:00:00Z" },
      period: "P1D", timeZone: "Europe/Paris", since: null, userId: "user", homeId2: "home", ids: ["power"],
    });
    assert.deepEqual(missing, []);
  });

  test("that nobody knows get an empty value, and are named if they are required", () => {
    const { values, missing } = fill("$hardwareId: String!, $input: NewHome!, $order: Order!, $count: Int!, $list: [Int!]!, $all: Boolean!, $name: String");
    assert.deepEqual(values, { hardwareId: "", input: { name: "" }, order: "NEWEST", count: 0, list: [], all: false, name: null });
    assert.deepEqual(missing, ["hardwareId", "input", "order", "count", "list"]);
    assert.deepEqual(fill("$homeId: ID!, $resourceIds: [ID!]!", NOTHING).missing, ["homeId", "resourceIds"]);
  });

  test("with names of the prototype of all objects are variables as others", () => {
    const { values } = fill("$__proto__: NewHome!, $constructor: String!");
    assert.equal(JSON.stringify(values), '{"__proto__":{"name":""},"constructor":""}');
    assert.equal(Object.getPrototypeOf(values), Object.prototype);
  });

  test("of a guide: the application takes its place, other placeholders are named", () => {
    const prepared = prepareGuide('mutation { a(applicationId: "APPLICATION", userId: "...") { b } }', OWN, SCHEMA, NOW);
    assert.deepEqual(prepared, { text: 'mutation { a(applicationId: "app", userId: "...") { b } }', values: {}, missing: ['"..."'] });
  });

  test("come from an answer that may have failed in part", () => {
    assert.deepEqual(readOwnData(null), NOTHING);
    const home = { homeId: "1", ownerId: "owner", timeZone: null, resources: [] };
    const page = (...homes) => ({ edges: homes.map((node) => ({ node })) });
    const user = { tokenStatus: null, viewer: { userId: "owner", homes: page(home) }, application: null };
    assert.deepEqual(readOwnData(user), { ...NOTHING, userId: "owner", homes: [home] });
    const newUser = { ...user, viewer: { userId: "u", homes: page() } };
    assert.deepEqual(readOwnData(newUser), { ...NOTHING, userId: "u" });
    const application = { tokenStatus: null, viewer: null, application: { homes: page(home) } };
    assert.deepEqual(readOwnData(application), { ...NOTHING, userId: "owner", homes: [home] });
    const administrator = { ...application, viewer: newUser.viewer };
    assert.deepEqual(readOwnData(administrator), { ...NOTHING, userId: "owner", homes: [home] });
  });
});

describe("search", () => {
  test("finds names first, entries before other fields, deprecated members last", () => {
    assert.deepEqual(searchSchema(SCHEMA, "readings").map(nameOf), ["Query.readings", "Home.readings", "Series", "Home.name", "Home.oldReadings"]);
    assert.deepEqual(searchSchema(SCHEMA, "home.na").map(nameOf), ["Home.name", "NewHome.name"]);
    assert.deepEqual(searchSchema(SCHEMA, "oldest").map(nameOf), ["Order.OLDEST"]);
    assert.deepEqual([searchSchema(SCHEMA, " "), searchSchema(SCHEMA, "nothing at all")], [[], []]);
  });

  test("knows where a type is used", () => {
    const uses = (name) => usesOf(SCHEMA, SCHEMA.type(name)).map(({ type, member }) => `${type.name}.${member}`);
    assert.deepEqual(uses("Series"), ["Query.readings", "Home.readings", "Home.oldReadings"]);
    assert.deepEqual(uses("Order"), ["Query.home"]);
  });
});

describe("costs", () => {
  test("of polling, as units and as a share of what the budget refills in an hour", () => {
    const cost = { estimated: 450, limit: 250_000, remaining: 250_000, reset: 0 };
    assert.deepEqual(pollingCosts(cost, 300).map(({ units, budget }) => [units, formatShare(budget)]), [[162_000, "5.4 %"], [27_000, "0.9 %"], [1800, "less than 0.1 %"]]);
    assert.equal(pollingCosts({ estimated: 450 }, null)[0].budget, null);
    const headers = ['"login";r=12; t=3', '"login";q=250000;w=300'];
    assert.deepEqual(readRateLimit(...headers), { remaining: 12, reset: 3, limit: 250_000, window: 300 });
    assert.deepEqual(Object.values(readRateLimit(undefined, "x")), [null, null, null, null]);
    assert.deepEqual([formatShare(0), formatShare(12.3456)], ["0.0 %", "1,235 %"]);
  });

  test("and the budget in words", () => {
    const cost = { estimated: 450, limit: 250_000, remaining: 1000, reset: 299 };
    assert.equal(describeBudget(cost), "1,000 of 250,000 units left. Enough for 2 runs at once. It is full in 5 min.");
    assert.match(describeBudget({ ...cost, remaining: 449, reset: 30 }), /Too little for this operation\. It is full in 30 s\./);
    assert.match(describeBudget({ estimated: 1 }), /no budget/);
  });
});

describe("a single operation", () => {
  const both = "# two\nquery A { ...F }\nfragment F on T { ...G }\nquery B { b }\nfragment G on T { g }\nfragment H on T { h }";

  test("has its fragments, and theirs", () => {
    assert.deepEqual(operationText(both, "A"), { text: "query A { ...F }\n\nfragment F on T { ...G }\n\nfragment G on T { g }\n", kind: "query", name: "A" });
    assert.equal(operationText(both, "B").text, "query B { b }\n");
  });

  test("stays as it is if it is the only one", () => {
    assert.deepEqual(operationText("# one\n{ a }", null), { text: "# one\n{ a }", kind: "query", name: null });
    assert.equal(operationText("fragment F on T { a }", null), null);
  });
});

describe("trusted documents", () => {
  test("have the SHA-256 of their bytes", async () => {
    const text = "query Ü { a } # 😀\r\n";
    assert.equal(await digestOf(text), createHash("sha256").update(text).digest("hex"));
    assert.deepEqual(JSON.parse(bodyById("ab", { x: 1 }, null)), { documentId: "sha256:ab", variables: { x: 1 } });
    assert.equal(JSON.parse(bodyById("ab", {}, "Q")).operationName, "Q");
  });

  test("are registered by commands that a shell reads as they are", () => {
    const commands = registerCommands(fileName("Homes", "query"), "it's $HOME `id`").split("\n");
    const read = (command) => execFileSync("sh", ["-c", `wattgate() { printf '%s|' "$@"; }; ${command}`], { encoding: "utf8" });
    assert.equal(read(commands[0]), "documents|register|Homes.graphql|--application|it's $HOME `id`|--dry-run|");
    assert.equal(read(commands[1]), "documents|register|Homes.graphql|--application|it's $HOME `id`|");
    assert.equal(registerCommands("a.graphql", "").split("\n")[1], "wattgate documents register a.graphql --application APPLICATION");
  });
});
