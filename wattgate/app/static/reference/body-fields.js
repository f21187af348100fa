/** The members of a body as texts of fields, and back. Only objects whose members are plain values have fields. */

import { plainSchema } from "./field-control.js";
import { describeSchema } from "./schema.js";

/** @import { Content, Reference, SchemaNode } from "./openapi.js" */
/** @import { Member } from "./schema.js" */

/**
 * Return the members of a body if it is an object of plain values, or an empty list.
 * @param {Content} content
 * @param {Pick<Reference, "resolve">} reference
 * @returns {Member[]}
 */
export function plainMembers({ schema, example }, reference) {
  const resolved = plainSchema(schema, reference);
  const { members } = describeSchema(schema, reference);
  if (resolved.type === "array") return [];
  const listed = members.length ? members : membersOfExample(example);
  return listed.every(({ schema: own }) => isPlain(plainSchema(own, reference))) ? listed : [];
}

/**
 * @param {unknown} example
 * @returns {Member[]}
 */
function membersOfExample(example) {
  if (typeof example !== "object" || example === null || Array.isArray(example)) return [];
  return Object.keys(example).map((member) => ({ member, schema: { type: "string" }, required: false }));
}

/** @param {SchemaNode} schema */
function isPlain({ type, enum: values, const: only }) {
  const types = [type].flat().filter((one) => one !== "null");
  if (values || only !== undefined) return true;
  return types.length > 0 && types.every((one) => one !== undefined && one !== "object" && one !== "array");
}

/**
 * Return the text of a field for a JSON value. Null and a missing value are empty.
 * @param {unknown} value
 * @returns {string}
 */
export function fieldText(value) {
  return value === null || value === undefined ? "" : String(value);
}

/**
 * Return the JSON value of the text of a field, by its schema. A text that is not of the type stays a text, so that the
 * gateway explains what is wrong.
 * @param {string} text
 * @param {SchemaNode} schema
 * @returns {unknown}
 */
export function fieldValue(text, { type, enum: values }) {
  const same = values?.find((value) => String(value) === text);
  if (same !== undefined) return same;
  const types = [type].flat();
  if (types.includes("boolean") && (text === "true" || text === "false")) return text === "true";
  const number = Number(text);
  // Numbers that would lose digits stay texts, which the interface takes for decimals.
  if ((types.includes("number") || types.includes("integer")) && String(number) === text) return number;
  return text;
}
