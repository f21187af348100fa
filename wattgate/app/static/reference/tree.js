/** A schema as a tree of its members. */

import { code, element, prose } from "../shared/dom.js";
import { describeSchema } from "./schema.js";

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

function memberList(members, reference, within) {
  if (members.length === 0) return null;
  return element("ul", { class: "tree" }, members.map((one) => memberItem(one, reference, within)));
}

function memberItem({ member, schema, required }, reference, within) {
  const { name, type, values, members } = describeSchema(schema, reference);
  // A component within itself is named, not unfolded again.
  const unfolded = name && within.includes(name) ? [] : members;
  return element(
    "li",
    {},
    signature(member, type, required),
    remarks(schema.description, values),
    memberList(unfolded, reference, [...within, name]),
  );
}

/** Name, type and whether it must be there. */
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

export function remarks(description, values) {
  const choices = values.map((value) => [code(String(value)), " "]);
  return [
    description ? element("p", { class: "remark" }, prose(description)) : null,
    choices.length ? element("p", { class: "values" }, "One of ", choices) : null,
  ];
}
