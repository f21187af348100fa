/** JSON Schemas: the name of a type, its members, and a sample value. */

/** @import { Reference, SchemaNode } from "./openapi.js" */

/**
 * The properties of a schema that the page shows. The members are those of the object that it describes, inside any number of arrays.
 * @typedef {object} SchemaDescription
 * @property {string | null} name  Of the component, if that object is one.
 * @property {string} type  In words, for example "array of string".
 * @property {unknown[]} values  Of an enum.
 * @property {{ member: string, schema: SchemaNode, required: boolean }[]} members
 */

const SAMPLE_ID = "3f2b8c1e-6d54-4a7b-9c0d-1e2f3a4b5c6d";
const SAMPLE_INSTANT = "2026-11-01T00:00:00Z";

/**
 * Describe a schema.
 * @param {SchemaNode} schema
 * @param {Pick<Reference, "resolve">} reference
 * @returns {SchemaDescription}
 */
export function describeSchema(schema, reference) {
  const name = schema.$ref?.split("/").at(-1) ?? null;
  const resolved = reference.resolve(schema);
  if (resolved.anyOf) {
    const others = resolved.anyOf.filter((option) => option.type !== "null");
    const description = describeSchema(others[0] ?? {}, reference);
    const nullable = others.length < resolved.anyOf.length && description.type !== "any";
    return { ...description, type: nullable ? `${description.type} or null` : description.type };
  }
  if (resolved.type === "array") {
    const items = describeSchema(resolved.items ?? {}, reference);
    return { ...items, type: items.type === "any" ? "array" : `array of ${items.type}` };
  }
  return {
    name,
    type: resolved.enum ? "enum" : (name ?? typeName(resolved)),
    values: resolved.enum ?? [],
    members: Object.entries(resolved.properties ?? {}).map(([member, memberSchema]) => ({
      member,
      schema: memberSchema,
      required: resolved.required?.includes(member) ?? false,
    })),
  };
}

/** @param {SchemaNode} schema */
function typeName({ type = "any", format, contentMediaType }) {
  if (contentMediaType) return "binary";
  return format ?? [type].flat().join(" or ");
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
  if (resolved.enum) return resolved.enum[0];
  if (resolved.anyOf) return innerValue(resolved.anyOf.find((option) => option.type !== "null") ?? {}, name);
  const type = [resolved.type].flat()[0];
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
  if (type === "boolean") return true;
  if (type === "integer" || type === "number") return 1;
  if (resolved.format === "date-time") return SAMPLE_INSTANT;
  return /Ids?$/.test(name) ? SAMPLE_ID : "string";
}
