/** A schema as a tree of its members. */

import { code, element, prose } from "../shared/dom.js";
import { describeSchema } from "./schema.js";

/** @import { Child } from "../shared/dom.js" */
/** @import { Reference, SchemaNode } from "./openapi.js" */
/** @import { SchemaDescription } from "./schema.js" */

/**
 * Create the tree of a schema.
 * @param {SchemaNode} schema
 * @param {Reference} reference
 * @returns {HTMLElement}
 */
export function schemaTree(schema, reference) {
  const { name, type, members } = describeSchema(schema, reference);
  const unnamed = type === "object" && members.length > 0;
  return element(
    "div",
    { class: "schema" },
    unnamed ? null : element("p", { class: "type" }, type),
    memberList(members, reference, [name]),
  );
}

/**
 * @param {SchemaDescription["members"]} members
 * @param {Reference} reference
 * @param {(string | null)[]} within  Names of the components around the list.
 * @returns {HTMLElement | null}
 */
function memberList(members, reference, within) {
  if (members.length === 0) return null;
  return element("ul", { class: "tree" }, members.map((member) => memberItem(member, reference, within)));
}

/**
 * @param {SchemaDescription["members"][number]} member
 * @param {Reference} reference
 * @param {(string | null)[]} within
 */
function memberItem({ member, schema, required }, reference, within) {
  const { name, type, values, members } = describeSchema(schema, reference);
  // The members of a component are not listed again inside itself.
  const listed = name && within.includes(name) ? [] : members;
  return element(
    "li",
    {},
    signature(member, type, required),
    remarks(schema.description, values),
    memberList(listed, reference, [...within, name]),
  );
}

/**
 * Create the line with the name and the type of a member or parameter.
 * @param {string} name
 * @param {string} type
 * @param {boolean} required
 * @returns {HTMLElement}
 */
export function signature(name, type, required) {
  return element(
    "p",
    { class: "signature" },
    element("code", { class: "name" }, name),
    " ",
    element("span", { class: "type" }, type),
    required ? [" ", element("span", { class: "required" }, "required")] : null,
  );
}

/**
 * Create the description of a member or parameter and the list of its values.
 * @param {string | undefined} description
 * @param {unknown[]} values  Of an enum.
 * @returns {Child[]}
 */
export function remarks(description, values) {
  const choices = values.map((value) => [code(String(value)), " "]);
  return [
    description ? element("p", { class: "remark" }, prose(description)) : null,
    choices.length ? element("p", { class: "values" }, "One of ", choices) : null,
  ];
}
