/** The content of a new field: its required arguments, and the fields of its type that people want first. */

import { isComposite, isRequired, namedType } from "../language/schema.js";

/** @import { Field, Input, Schema, SchemaType } from "../language/schema.js" */
/** @import { NewSelection } from "./text-edits.js" */

/** Maximum fields of a type that are selected with it. */
const MAX_FIELDS = 4;
/** Names of the fields that say most about an object. */
const TELLING = ["total", "value", "unit", "at", "title", "classifier", "state", "status", "start"];
/** Items of a new page of a connection. */
const PAGE_SIZE = 10;

/**
 * Return the arguments that a new field gets. A subscription with `since` can resume after a lost connection.
 * @param {Field} field
 * @param {boolean} isSubscription
 * @returns {Input[]}
 */
export function wantedArguments({ args }, isSubscription) {
  return [...args.values()].filter((arg) => isRequired(arg) || (isSubscription && arg.name === "since"));
}

/**
 * Return the literal arguments that a new field gets.
 * @param {Schema} schema
 * @param {Field} field
 * @returns {{ name: string, value: string }[]}
 */
export function literalArguments(schema, field) {
  const first = field.args.get("first");
  const isPage = first && first.defaultValue === null && schema.type(namedType(field.type))?.fields.has("edges");
  return isPage && !isRequired(first) ? [{ name: "first", value: String(PAGE_SIZE) }] : [];
}

/**
 * Return the selections that a new field gets, null if it is a leaf.
 * @param {Schema} schema
 * @param {Field} field
 * @returns {NewSelection[] | null}
 */
export function defaultSelections(schema, field) {
  const type = schema.type(namedType(field.type));
  if (!type || !isComposite(type)) return null;
  const edges = type.fields.get("edges");
  if (!edges) return leaves(schema, type);
  const node = schema.type(namedType(edges.type))?.fields.get("node");
  if (!node) return leaves(schema, type);
  const nodes = selection("edges", [selection("node", defaultSelections(schema, node))]);
  const page = type.fields.has("pageInfo");
  return page ? [nodes, selection("pageInfo", [selection("hasNextPage"), selection("endCursor")])] : [nodes];
}

/**
 * Return the leaves of a type: its own id and name, and those that come first.
 * @param {Schema} schema
 * @param {SchemaType} type
 * @returns {NewSelection[]}
 */
function leaves(schema, type) {
  const fields = [...type.fields.values()].filter((field) => isPlainLeaf(schema, field));
  const isId = (/** @type {Field} */ { name }) => name.endsWith("Id");
  const own = fields.find(isId) ?? fields.find(({ name }) => name === "id");
  const named = fields.find(({ name }) => name === "name");
  const telling = fields.filter(({ name }) => TELLING.includes(name));
  // The global id and foreign ids are not what people look at first.
  const others = fields.filter((field) => !isId(field) && field.name !== "id");
  const ordered = new Set([own, named, ...telling, ...others].filter((field) => field !== undefined));
  const chosen = new Set([...ordered].slice(0, MAX_FIELDS));
  const names = fields.filter((field) => chosen.has(field)).map(({ name }) => name);
  return (names.length ? names : ["__typename"]).map((name) => selection(name));
}

/**
 * @param {Schema} schema
 * @param {Field} field
 */
function isPlainLeaf(schema, { type, args, deprecationReason }) {
  const named = schema.type(namedType(type));
  return !deprecationReason && (!named || !isComposite(named)) && ![...args.values()].some(isRequired);
}

/**
 * @param {string} name
 * @param {NewSelection[] | null} [children]
 * @returns {NewSelection}
 */
function selection(name, children = null) {
  return { name, args: [], children };
}
