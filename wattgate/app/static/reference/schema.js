/** JSON Schemas: what a type is called, which members it has, and what a value of it may look like. */

const ID = "b0f1b774-a586-4f72-9edd-27ead8aa7a8d";
const INSTANT = "2026-11-01T00:00:00Z";

/**
 * A schema in the words of the page: `type` in words, `values` of an enum, `members` of the object it holds (in
 * however many arrays), and `name` where that object is a component.
 */
export function describeSchema(schema, reference) {
  const name = schema.$ref?.split("/").at(-1) ?? null;
  const plain = reference.resolve(schema);
  if (plain.anyOf) {
    const others = plain.anyOf.filter((one) => one.type !== "null");
    const [one] = others.map((other) => describeSchema(other, reference));
    const nullable = others.length < plain.anyOf.length && one.type !== "any";
    return { ...one, type: nullable ? `${one.type} or null` : one.type };
  }
  if (plain.type === "array") {
    const items = describeSchema(plain.items ?? {}, reference);
    return { ...items, type: items.type === "any" ? "array" : `array of ${items.type}` };
  }
  return {
    name,
    type: plain.enum ? "enum" : (name ?? typeName(plain)),
    values: plain.enum ?? [],
    members: Object.entries(plain.properties ?? {}).map(([member, of]) => ({
      member,
      schema: of,
      required: plain.required?.includes(member) ?? false,
    })),
  };
}

function typeName({ type = "any", format, contentMediaType }) {
  if (contentMediaType) return "binary";
  return format ?? [type].flat().join(" or ");
}

/** A value of this schema; with `requiredOnly`, of objects only what must be there, if anything must. */
export function sampleValue(schema, reference, { requiredOnly = false, name = "", within = [] } = {}) {
  const plain = reference.resolve(schema);
  const inner = (of, member) =>
    sampleValue(of, reference, { requiredOnly, name: member, within: schema.$ref ? [...within, schema.$ref] : within });
  if (plain.enum) return plain.enum[0];
  if (plain.anyOf) return inner(plain.anyOf.find((one) => one.type !== "null"), name);
  const type = [plain.type].flat()[0];
  if (type === "array") return within.includes(plain.items?.$ref) ? [] : [inner(plain.items ?? {}, name)];
  if (type === "object" || !type) {
    const all = Object.entries(plain.properties ?? {});
    const required = all.filter(([member]) => plain.required?.includes(member));
    const chosen = requiredOnly && required.length ? required : all;
    return Object.fromEntries(chosen.map(([member, of]) => [member, inner(of, member)]));
  }
  if (type === "boolean") return true;
  if (type === "integer" || type === "number") return 1;
  if (plain.format === "date-time") return INSTANT;
  return /Ids?$/.test(name) ? ID : "string";
}
