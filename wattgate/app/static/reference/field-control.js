/** An input for a value of a schema: a list for enums, a calendar for dates, a text field for all else. */

import { element } from "../shared/dom.js";
import { describeSchema, isSecret } from "./schema.js";

/** @import { Reference, SchemaNode } from "./openapi.js" */

/** @typedef {HTMLInputElement | HTMLSelectElement} Control */

/**
 * The facts about a value that its input needs.
 * @typedef {object} Field
 * @property {string} name
 * @property {SchemaNode} schema
 * @property {boolean} required
 * @property {string} value  The first value.
 * @property {unknown} [example]
 */

/** A wall-clock time, without an offset. */
const WALL_CLOCK = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/;

/**
 * Create the input of a field. The value that it has now is that of `readControl`.
 * @param {Field} field
 * @param {Pick<Reference, "resolve">} reference
 * @returns {Control}
 */
export function createControl(field, reference) {
  const { name, schema, required, value } = field;
  const resolved = plainSchema(schema, reference);
  const choices = choicesOf(schema, resolved, reference);
  const attributes = { name, "data-testid": `field-${name}`, "aria-required": required ? "true" : null };
  if (choices.length) {
    const options = ["", ...choices].map((choice) =>
      element("option", { value: choice, selected: choice === value }, choice || (required ? "Choose…" : "Not set")),
    );
    return element("select", attributes, options);
  }
  const kind = inputKind(field, resolved);
  const input = element("input", {
    ...attributes,
    type: kind === "instant" || kind === "wall-clock" ? "datetime-local" : kind,
    step: kind === "instant" || kind === "wall-clock" ? "1" : null,
    "data-kind": kind,
    autocomplete: kind === "password" ? "new-password" : "off",
    autocapitalize: "none",
    spellcheck: "false",
    inputmode: isNumeric(resolved) ? "decimal" : null,
    maxlength: resolved.maxLength ? String(resolved.maxLength) : null,
    placeholder: placeholderOf(field, resolved),
  });
  input.value = kind === "instant" ? value.replace(/(\.\d+)?(Z|[+-]\d\d:?\d\d)$/, "") : value;
  return input;
}

/**
 * Return the value of an input as the request has it.
 * @param {Control} control
 * @returns {string}
 */
export function readControl(control) {
  const { value } = control;
  if (!value || control instanceof HTMLSelectElement) return value;
  const { kind } = control.dataset;
  if (kind !== "instant" && kind !== "wall-clock") return value;
  const withSeconds = value.length === 16 ? `${value}:00` : value; // browsers leave out seconds that are zero
  return kind === "instant" ? `${withSeconds}Z` : withSeconds;
}

/**
 * Return the schema of a value that is not null.
 * @param {SchemaNode} schema
 * @param {Pick<Reference, "resolve">} reference
 * @returns {SchemaNode}
 */
export function plainSchema(schema, reference) {
  const resolved = reference.resolve(schema);
  const inner = (resolved.anyOf ?? resolved.oneOf ?? resolved.allOf)?.find((option) => option.type !== "null");
  return inner ? plainSchema(inner, reference) : resolved;
}

/**
 * @param {SchemaNode} schema
 * @param {SchemaNode} resolved
 * @param {Pick<Reference, "resolve">} reference
 * @returns {string[]}
 */
function choicesOf(schema, resolved, reference) {
  const { values } = describeSchema(schema, reference);
  if (values.length) return values.filter((value) => value !== null).map(String);
  return [resolved.type].flat().includes("boolean") ? ["true", "false"] : [];
}

/**
 * @param {Field} field
 * @param {SchemaNode} resolved
 */
function inputKind({ name, schema, example }, resolved) {
  if (isSecret(name, schema) || isSecret(name, resolved)) return "password";
  if (resolved.format === "date") return "date";
  const sample = String(example ?? resolved.example ?? "");
  if (WALL_CLOCK.test(sample)) return "wall-clock";
  return resolved.format === "date-time" ? "instant" : "text";
}

/** @param {SchemaNode} schema */
function isNumeric({ type }) {
  return [type].flat().some((one) => one === "integer" || one === "number");
}

/**
 * @param {Field} field
 * @param {SchemaNode} resolved
 */
function placeholderOf({ example, value }, resolved) {
  if (value) return null;
  const shown = example ?? resolved.example ?? resolved.default;
  return shown === undefined || shown === null || typeof shown === "object" ? null : String(shown);
}
