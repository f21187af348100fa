/** A schema as a tree of its members: name, type, whether it is required, what it means, its limits and values. */

import { code, element, prose } from "../shared/dom.js";
import { describeSchema, limitsSentence } from "./schema.js";

/** @import { Child } from "../shared/dom.js" */
/** @import { Reference, SchemaNode } from "./openapi.js" */
/** @import { Member } from "./schema.js" */

/** Members of members are folded away from this depth on. */
const FOLDED_DEPTH = 2;

/**
 * Create the tree of a schema.
 * @param {SchemaNode} schema
 * @param {Reference} reference
 * @returns {HTMLElement}
 */
export function schemaTree(schema, reference) {
  const { name, type, description, values, limits, members } = describeSchema(schema, reference);
  const unnamed = type === "object" && members.length > 0;
  return element(
    "div",
    { class: "schema" },
    unnamed ? null : element("p", { class: "type" }, type),
    remarks(description, limits, values),
    memberList(members, reference, [name]),
  );
}

/**
 * @param {Member[]} members
 * @param {Reference} reference
 * @param {(string | null)[]} within  Names of the components around the list.
 * @returns {HTMLElement | null}
 */
function memberList(members, reference, within) {
  if (members.length === 0) return null;
  const list = element("ul", { class: "tree" }, members.map((member) => memberItem(member, reference, within)));
  if (within.length <= FOLDED_DEPTH) return list;
  const count = members.length === 1 ? "1 member" : `${members.length} members`;
  return element("details", { class: "folded" }, element("summary", {}, count), list);
}

/**
 * @param {Member} member
 * @param {Reference} reference
 * @param {(string | null)[]} within
 */
function memberItem({ member, schema, required }, reference, within) {
  const { name, type, description, values, limits, members } = describeSchema(schema, reference);
  // The members of a component are not listed again inside itself.
  const listed = name && within.includes(name) ? [] : members;
  return element(
    "li",
    {},
    signature(member, type, required),
    remarks(schema.description || description, limits, values),
    memberList(listed, reference, [...within, name]),
  );
}

/**
 * Create the line with the name and the type of a member or parameter.
 * @param {string} name
 * @param {string} type
 * @param {boolean} required
 * @param {"p" | "span"} [tag]
 * @returns {HTMLElement}
 */
export function signature(name, type, required, tag = "p") {
  return element(
    tag,
    { class: "signature" },
    element("code", { class: "name" }, name),
    " ",
    element("span", { class: "type" }, type),
    required ? [" ", element("span", { class: "required" }, "required")] : null,
  );
}

/**
 * Create the description of a member, its limits and the list of its values.
 * @param {string | null | undefined} description
 * @param {string[]} limits
 * @param {unknown[]} values  Of an enum.
 * @returns {Child[]}
 */
function remarks(description, limits, values) {
  const limited = limitsSentence(limits, description ?? "");
  const choices = values.map((value) => [code(String(value)), " "]);
  return [
    description ? element("p", { class: "remark" }, prose(description)) : null,
    limited ? element("p", { class: "remark" }, prose(limited)) : null,
    choices.length ? element("p", { class: "values" }, "One of ", choices) : null,
  ];
}
