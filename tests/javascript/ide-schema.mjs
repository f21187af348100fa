/** A small schema for tests of the IDE, as introspection returns it. */

import { Schema } from "../../wattgate/app/static/ide/language/schema.js";

/** Return a type such as `[ID!]!` as introspection writes it. */
function ref(text) {
  if (text.endsWith("!")) return { kind: "NON_NULL", ofType: ref(text.slice(0, -1)) };
  if (text.startsWith("[")) return { kind: "LIST", ofType: ref(text.slice(1, -1)) };
  return { kind: "NAMED", name: text };
}

const input = (name, type, more = {}) => ({ name, description: `The ${name}.`, type: ref(type), defaultValue: null, ...more });
const field = (name, type, args = [], more = {}) => ({ name, description: `The ${name}.`, type: ref(type), args, ...more });
const object = (name, fields, more = {}) => ({ kind: "OBJECT", name, fields, interfaces: [], ...more });
const scalar = (name) => ({ kind: "SCALAR", name });

const TYPES = [
  object("Query", [
    field("homes", "[Home!]!", [input("first", "Int", { defaultValue: "10" })]),
    field("home", "Home", [input("homeId", "ID!")]),
    field("house", "Home", [input("homeId", "ID!")], { isDeprecated: true, deprecationReason: "Use home." }),
    field("node", "Node", [input("id", "ID!")]),
    field("found", "Found"),
    field("readings", "[Float]", [
      input("range", "TimeRange!"), input("period", "Period!"), input("by", "HomeBy"), input("ids", "[ID!]"), input("live", "Boolean"),
    ]),
  ]),
  object("Mutation", [field("authenticate", "Login", [input("username", "String!"), input("password", "String!")])]),
  object("Subscription", [field("power", "Power", [input("homeId", "ID!")])]),
  object("Home", [field("homeId", "ID!"), field("name", "String"), field("resources", "[Resource!]!"), field("id", "ID!")]),
  object("Resource", [field("resourceId", "ID!"), field("name", "String"), field("id", "ID!")]),
  object("Login", [field("token", "String!")]),
  object("Power", [field("watts", "Float")]),
  { kind: "INTERFACE", name: "Node", fields: [field("id", "ID!")], possibleTypes: [{ name: "Home" }, { name: "Resource" }] },
  { kind: "UNION", name: "Found", possibleTypes: [{ name: "Home" }, { name: "Resource" }] },
  { kind: "ENUM", name: "Period", enumValues: [{ name: "PT30M", description: "Half an hour." }, { name: "P1D" }, { name: "DAY", isDeprecated: true, deprecationReason: "Use P1D." }] },
  { kind: "INPUT_OBJECT", name: "TimeRange", inputFields: [input("start", "String!"), input("end", "String")] },
  { kind: "INPUT_OBJECT", name: "HomeBy", isOneOf: true, inputFields: [input("homeId", "ID"), input("name", "String")] },
  ...["ID", "String", "Int", "Float", "Boolean"].map(scalar),
];

export const SCHEMA = new Schema({
  queryType: { name: "Query" }, mutationType: { name: "Mutation" }, subscriptionType: { name: "Subscription" }, types: TYPES,
  directives: [
    { name: "include", locations: ["FIELD", "FRAGMENT_SPREAD", "INLINE_FRAGMENT"], args: [input("if", "Boolean!")] },
    { name: "skip", locations: ["FIELD", "FRAGMENT_SPREAD", "INLINE_FRAGMENT"], args: [input("if", "Boolean!")] },
    { name: "trace", locations: ["QUERY"], args: [] },
  ],
});

/** Split a text at the mark `|`, which stands for the caret. */
export function atCaret(marked) {
  const caret = marked.indexOf("|");
  return [marked.slice(0, caret) + marked.slice(caret + 1), caret];
}
