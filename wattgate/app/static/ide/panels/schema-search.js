/** Search over the types and fields of a schema. */

import { isComposite, namedType } from "../language/schema.js";

/** @import { Schema, SchemaType } from "../language/schema.js" */

/**
 * A type, or a member of it: a field, an input field or a value of an enum.
 * @typedef {object} Hit
 * @property {SchemaType} type
 * @property {string | null} member
 * @property {string} description
 * @property {boolean} isDeprecated
 * @property {number} rank  The smallest comes first.
 */

const MAX_HITS = 60;

/**
 * Return what fits a text: names first that begin with it, then names that contain it, then descriptions.
 * @param {Schema} schema
 * @param {string} text  Words; `Type.field` narrows the search to a type.
 * @returns {Hit[]}
 */
export function searchSchema(schema, text) {
  const words = text.toLowerCase().split(/[\s.]+/).filter(Boolean);
  if (!words.length) return [];
  /** @type {Hit[]} */
  const hits = [];
  for (const type of schema.types.values()) {
    if (type.name.startsWith("__")) continue;
    add(hits, words, { type, member: null, description: type.description, isDeprecated: false });
    for (const member of membersOf(type)) {
      const { name, description, deprecationReason } = member;
      add(hits, words, { type, member: name, description, isDeprecated: deprecationReason !== null }, isRoot(schema, type));
    }
  }
  return hits.sort((one, other) => one.rank - other.rank || nameOf(one).localeCompare(nameOf(other))).slice(0, MAX_HITS);
}

/**
 * @param {Hit[]} hits
 * @param {string[]} words
 * @param {Omit<Hit, "rank">} hit
 * @param {boolean} [isEntry]  Whether it is a field of a root, which people look for first.
 */
function add(hits, words, hit, isEntry = false) {
  const name = (hit.member ?? hit.type.name).toLowerCase();
  const whole = `${hit.type.name} ${name}`.toLowerCase();
  const inNames = words.every((word) => whole.includes(word)) && words.some((word) => name.includes(word));
  const last = words[words.length - 1];
  const place = name === last ? 0 : name.startsWith(last) ? 1 : inNames ? 2 : 4;
  if (!inNames && !words.every((word) => `${whole} ${hit.description}`.toLowerCase().includes(word))) return;
  const late = (hit.isDeprecated ? 8 : 0) + (isEntry ? -0.5 : 0) + (hit.member === null ? -0.2 : 0);
  hits.push({ ...hit, rank: place + late });
}

/** @param {Hit} hit */
export function nameOf({ type, member }) {
  return member === null ? type.name : `${type.name}.${member}`;
}

/**
 * Return the members of a type, whatever kind it has.
 * @param {SchemaType} type
 * @returns {{ name: string, description: string, deprecationReason: string | null }[]}
 */
function membersOf({ fields, inputFields, enumValues }) {
  return [...fields.values(), ...inputFields.values(), ...enumValues.values()];
}

/**
 * @param {Schema} schema
 * @param {SchemaType} type
 */
function isRoot({ query, mutation, subscription }, { name }) {
  return name === query || name === mutation || name === subscription;
}

/**
 * Return the fields that return a type or take it, as `Type.field`.
 * @param {Schema} schema
 * @param {SchemaType} wanted
 * @returns {{ type: SchemaType, member: string }[]}
 */
export function usesOf(schema, wanted) {
  return [...schema.types.values()].filter(({ name }) => !name.startsWith("__")).flatMap((type) => {
    const fields = [...type.fields.values()].filter((field) => {
      const takes = !isComposite(wanted) && [...field.args.values()].some((arg) => namedType(arg.type) === wanted.name);
      return takes || namedType(field.type) === wanted.name;
    });
    const inputs = [...type.inputFields.values()].filter((input) => namedType(input.type) === wanted.name);
    return [...fields, ...inputs].map(({ name }) => ({ type, member: name }));
  });
}
