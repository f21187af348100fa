/** JSON Schemas: the name of a type, its members, its limits, and a sample value. */

import { plural } from "../shared/quantities.js";
import { isSecretName } from "../shared/secrets.js";

/** @import { Content, Reference, SchemaNode } from "./openapi.js" */

/**
 * The properties of a schema that the page shows. The members are those of the object that it describes, inside any number of arrays.
 * @typedef {object} SchemaDescription
 * @property {string | null} name  Of the component, if that object is one.
 * @property {string} type  In words, for example "array of string or null".
 * @property {boolean} nullable
 * @property {string | null} description  Of the component, if the schema has none of its own.
 * @property {unknown[]} values  Of an enum.
 * @property {string[]} limits  In words, for example "at most 200 characters".
 * @property {Member[]} members
 */

/** @typedef {{ member: string, schema: SchemaNode, required: boolean }} Member */

const SAMPLE_ID = "3f2b8c1e-6d54-4a7b-9c0d-1e2f3a4b5c6d";
const SAMPLE_INSTANT = "2026-11-01T00:00:00Z";
/** Characters of a pattern that a reader understands. */
const MAX_PATTERN = 40;

/**
 * Describe a schema.
 * @param {SchemaNode} schema
 * @param {Pick<Reference, "resolve">} reference
 * @returns {SchemaDescription}
 */
export function describeSchema(schema, reference) {
  const name = schema.$ref?.split("/").at(-1) ?? null;
  const resolved = reference.resolve(schema);
  const only = resolved.allOf?.length === 1 ? resolved.allOf[0] : null;
  if (only) return describeSchema({ ...only, ...(resolved.description && { description: resolved.description }) }, reference);
  const options = resolved.anyOf ?? resolved.oneOf;
  if (options) return describeOptions(options, resolved.description ?? null, reference);
  if (resolved.type === "array") {
    const items = describeSchema(resolved.items ?? {}, reference);
    const type = items.type === "any" ? "array" : `array of ${items.type}`;
    return { ...items, type, nullable: false, limits: limitsOf(resolved), description: resolved.description ?? null };
  }
  return {
    name,
    type: resolved.enum ? "enum" : (name ?? typeName(resolved)),
    nullable: [resolved.type].flat().includes("null"),
    description: resolved.description ?? null,
    values: resolved.enum ?? (resolved.const === undefined ? [] : [resolved.const]),
    limits: limitsOf(resolved),
    members: Object.entries(resolved.properties ?? {}).map(([member, memberSchema]) => ({
      member,
      schema: memberSchema,
      required: resolved.required?.includes(member) ?? false,
    })),
  };
}

/**
 * @param {SchemaNode[]} options
 * @param {string | null} ownDescription
 * @param {Pick<Reference, "resolve">} reference
 * @returns {SchemaDescription}
 */
function describeOptions(options, ownDescription, reference) {
  const others = options.filter((option) => option.type !== "null");
  const described = (others.length ? others : [{}]).map((option) => describeSchema(option, reference));
  const [first] = described;
  const names = [...new Set(described.map(({ type }) => type))].join(" or ");
  const nullable = others.length < options.length && first.type !== "any";
  const type = nullable && !first.nullable ? `${names} or null` : names;
  return { ...first, type, nullable: nullable || first.nullable, description: ownDescription ?? first.description };
}

/** @param {SchemaNode} schema */
function typeName({ type = "any", format, contentMediaType }) {
  if (contentMediaType) return "binary";
  const types = [type].flat();
  if (!format) return types.join(" or ");
  return types.includes("null") ? `${format} or null` : format;
}

/**
 * @param {SchemaNode} schema
 * @returns {string[]}
 */
function limitsOf(schema) {
  const { minLength, maxLength, minimum, maximum, minItems, maxItems, pattern, default: preset } = schema;
  const { exclusiveMinimum: above, exclusiveMaximum: below } = schema;
  return [
    above === undefined ? "" : `above ${above}`,
    below === undefined ? "" : `below ${below}`,
    minLength ? `at least ${plural(minLength, "character")}` : "",
    maxLength === undefined ? "" : `at most ${plural(maxLength, "character")}`,
    minimum === undefined ? "" : `at least ${minimum}`,
    maximum === undefined ? "" : `at most ${maximum}`,
    minItems ? `at least ${plural(minItems, "item")}` : "",
    maxItems === undefined ? "" : `at most ${plural(maxItems, "item")}`,
    pattern && pattern.length <= MAX_PATTERN ? `of the form \`${pattern}\`` : "",
    preset === undefined || preset === null ? "" : `\`${JSON.stringify(preset)}\` if left out`,
  ].filter(Boolean);
}

/**
 * Return the limits of a schema as a sentence, without those that its description names.
 * @param {string[]} limits
 * @param {string} [description]
 * @returns {string}
 */
export function limitsSentence(limits, description = "") {
  const text = limits.filter((limit) => !description.toLowerCase().includes(limit)).join(", ");
  return text && `${text[0].toUpperCase()}${text.slice(1)}.`;
}

/**
 * Return the example of a body or response: that of the document, or a sample of its schema.
 * @param {Content} content
 * @param {Pick<Reference, "resolve">} reference
 * @param {SampleOptions} options
 * @returns {any}
 */
export function example({ schema, example: given }, reference, options = {}) {
  return given ?? reference.resolve(schema).example ?? sampleValue(schema, reference, options);
}

/**
 * @typedef {object} SampleOptions
 * @property {boolean} [requiredOnly]  Leave out optional members of objects that have required ones.
 * @property {string} [name]  The name of the member or parameter that the value is for.
 * @property {string[]} [within]  References of the components around it, which are not repeated inside themselves.
 */

/**
 * Return a sample value of a schema.
 * @param {SchemaNode} schema
 * @param {Pick<Reference, "resolve">} reference
 * @param {SampleOptions} options
 * @returns {any}
 */
export function sampleValue(schema, reference, { requiredOnly = false, name = "", within = [] } = {}) {
  const resolved = reference.resolve(schema);
  /**
   * @param {SchemaNode} inner
   * @param {string} member
   */
  const innerValue = (inner, member) => {
    const around = schema.$ref ? [...within, schema.$ref] : within;
    return sampleValue(inner, reference, { requiredOnly, name: member, within: around });
  };
  if (resolved.example !== undefined) return resolved.example;
  if (resolved.const !== undefined) return resolved.const;
  if (resolved.enum) return resolved.enum[0];
  const options = resolved.anyOf ?? resolved.oneOf ?? resolved.allOf;
  if (options) return innerValue(options.find((option) => option.type !== "null") ?? {}, name);
  const type = [resolved.type].flat().find((one) => one !== "null");
  if (type === "array") {
    const repeated = resolved.items?.$ref !== undefined && within.includes(resolved.items.$ref);
    return repeated ? [] : [innerValue(resolved.items ?? {}, name)];
  }
  if (type === "object" || !type) {
    const all = Object.entries(resolved.properties ?? {});
    const required = all.filter(([member]) => resolved.required?.includes(member));
    const chosen = requiredOnly && required.length ? required : all;
    return Object.fromEntries(chosen.map(([member, memberSchema]) => [member, innerValue(memberSchema, member)]));
  }
  return sampleScalar(type, resolved, name);
}

/**
 * @param {string} type
 * @param {SchemaNode} schema
 * @param {string} name
 */
function sampleScalar(type, { format, minimum = 1 }, name) {
  if (type === "boolean") return true;
  if (type === "integer" || type === "number") return minimum;
  if (format === "date-time") return SAMPLE_INSTANT;
  if (format === "date") return SAMPLE_INSTANT.slice(0, 10);
  return format === "uuid" || /Ids?$/.test(name) ? SAMPLE_ID : "string";
}

/**
 * Return whether a schema is of binary content.
 * @param {SchemaNode | undefined} schema
 * @returns {boolean}
 */
export function isBinary(schema) {
  return Boolean(schema?.contentMediaType) || schema?.format === "binary";
}

/**
 * Return whether a member holds a secret, such as a password.
 * @param {string} name
 * @param {SchemaNode} [schema]
 * @returns {boolean}
 */
export function isSecret(name, schema = {}) {
  return schema.format === "password" || schema.writeOnly === true || isSecretName(name);
}

/**
 * Return the names of the members of an object that hold secrets.
 * @param {SchemaNode} schema
 * @param {Pick<Reference, "resolve">} reference
 * @returns {string[]}
 */
export function secretMembers(schema, reference) {
  const { members } = describeSchema(schema, reference);
  return members.filter(({ member, schema: own }) => isSecret(member, reference.resolve(own))).map(({ member }) => member);
}
