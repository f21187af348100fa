/** The description of a type: its members with their types, arguments, defaults and deprecations. */

import { code, element, prose } from "../../shared/dom.js";
import { isComposite, isRequired, namedType, printType } from "../language/schema.js";
import { usesOf } from "./schema-search.js";

/** @import { Child } from "../../shared/dom.js" */
/** @import { Field, Input, Schema, SchemaType, TypeRef } from "../language/schema.js" */

/** @type {Readonly<Record<SchemaType["kind"], string>>} */
const KINDS = Object.freeze({
  SCALAR: "scalar", OBJECT: "type", INTERFACE: "interface", UNION: "union", ENUM: "enum", INPUT_OBJECT: "input",
});
const MAX_USES = 30;

/**
 * Create the page of a type. Buttons with `data-type` lead to other types.
 * @param {Schema} schema
 * @param {SchemaType} type
 * @param {string | null} member  The member to stand out.
 * @returns {HTMLElement}
 */
export function typePage(schema, type, member) {
  const uses = usesOf(schema, type);
  return element(
    "article",
    { class: "type-page", "data-testid": "type-page" },
    element("h3", {}, element("span", { class: "type-kind" }, KINDS[type.kind]), " ", type.name),
    describe(type.description),
    type.interfaces.length ? element("p", {}, "Implements ", type.interfaces.map((name) => [typeButton(name), " "])) : null,
    type.possibleTypes.length ? element("p", {}, "One of ", type.possibleTypes.map((name) => [typeButton(name), " "])) : null,
    type.isOneOf ? element("p", {}, "Exactly one of its fields.") : null,
    list("Fields", [...type.fields.values()].map((field) => fieldItem(field, field.name === member))),
    list("Input fields", [...type.inputFields.values()].map((input) => inputItem(input, input.name === member))),
    list("Values", [...type.enumValues.values()].map(({ name, description, deprecationReason }) => {
      return element("li", { class: name === member ? "found" : null }, code(name), deprecation(deprecationReason), describe(description));
    })),
    list(isComposite(type) ? "Returned by" : "Used by", uses.slice(0, MAX_USES).map((use) => element(
      "li", {}, typeButton(use.type.name, use.member, `${use.type.name}.${use.member}`),
    ))),
    uses.length > MAX_USES ? element("p", { class: "panel-note" }, `And ${uses.length - MAX_USES} more.`) : null,
  );
}

/**
 * Create a button that leads to a type.
 * @param {string} name
 * @param {string | null} [member]
 * @param {string} [label]
 */
export function typeButton(name, member = null, label = name) {
  return element("button", { type: "button", class: "type-link", "data-type": name, "data-member": member }, label);
}

/**
 * Create a type, with a link to the type inside of its brackets.
 * @param {TypeRef} type
 */
export function typeOf(type) {
  const [before, after] = printType(type).split(namedType(type));
  return element("span", { class: "type-ref" }, before, typeButton(namedType(type)), after);
}

/**
 * @param {string} title
 * @param {HTMLElement[]} items
 * @returns {Child}
 */
function list(title, items) {
  return items.length ? [element("h4", {}, title), element("ul", { class: "members" }, items)] : null;
}

/**
 * @param {Field} field
 * @param {boolean} isFound
 */
function fieldItem({ name, type, args, description, deprecationReason }, isFound) {
  const taken = [...args.values()].map((arg) => inputItem(arg, false));
  return element(
    "li",
    { class: isFound ? "found" : null },
    element("p", {}, code(name), " ", typeOf(type), deprecation(deprecationReason)),
    describe(description),
    taken.length ? element("ul", { class: "args", "aria-label": `Arguments of ${name}` }, taken) : null,
  );
}

/**
 * @param {Input} input
 * @param {boolean} isFound
 */
function inputItem(input, isFound) {
  const { name, type, description, defaultValue, deprecationReason } = input;
  return element(
    "li",
    { class: isFound ? "found" : null },
    element(
      "p", {}, code(name), " ", typeOf(type),
      defaultValue === null ? null : [" = ", code(defaultValue)],
      isRequired(input) ? element("span", { class: "required" }, " required") : null,
      deprecation(deprecationReason),
    ),
    describe(description),
  );
}

/**
 * @param {string | null} reason
 * @returns {Child}
 */
export function deprecation(reason) {
  return reason === null ? null : element("span", { class: "deprecated", title: reason }, " deprecated");
}

/**
 * @param {string} description
 * @returns {Child}
 */
export function describe(description) {
  return description ? element("p", { class: "description" }, prose(description)) : null;
}
