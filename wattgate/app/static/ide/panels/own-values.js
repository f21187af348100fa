/** Values for the variables of a document, from the data of the caller: the first home, its first resource, a past week. */

import { namedType, nullableType } from "../language/schema.js";

/** @import { Schema, TypeRef } from "../language/schema.js" */

/**
 * @typedef {object} OwnHome
 * @property {string} homeId
 * @property {string | null} timeZone
 * @property {{ resourceId: string, classifier: string | null, resourceTypeId: string }[]} resources
 */

/**
 * The data of the caller. Texts are empty if they are not known.
 * @typedef {object} OwnData
 * @property {string} applicationId
 * @property {string} userId
 * @property {string} accountId
 * @property {OwnHome[]} homes
 */

/** @type {Readonly<OwnData>} */
export const NOTHING = Object.freeze({ applicationId: "", userId: "", accountId: "", homes: [] });

/** The request for the data of the caller. Users have no access to `application`; the others have homes only there. */
export const OWN_DATA_QUERY = `query IdeOwnData {
  tokenStatus { accountId applicationId }
  viewer { userId homes(first: 10) { edges { node { ...IdeHome } } } }
  application { homes(first: 1) { edges { node { ...IdeHome } } } }
}
fragment IdeHome on Home { homeId ownerId timeZone resources { resourceId classifier resourceTypeId } }`;

const DAY = 86_400_000;
const DAYS = 7;
const PREFERRED = "electricity.consumption";

/**
 * Return what the caller owns from the answer to the request. A part that failed is left out.
 * @param {any} data
 * @returns {OwnData}
 */
export function readOwnData(data) {
  const own = homesOf(data?.viewer?.homes);
  const homes = own.length ? own : homesOf(data?.application?.homes);
  return {
    applicationId: data?.tokenStatus?.applicationId ?? "",
    accountId: data?.tokenStatus?.accountId ?? "",
    userId: homes[0]?.ownerId ?? data?.viewer?.userId ?? "",
    homes,
  };
}

/**
 * @param {{ edges: { node: OwnHome & { ownerId: string | null } }[] } | null | undefined} page
 */
function homesOf(page) {
  return (page?.edges ?? []).map(({ node }) => node);
}

/** A declared variable. `type` is null if it cannot be read. @typedef {{ name: string, type: TypeRef | null }} Declared */

/**
 * Return values for variables, and the names of those that only the user knows.
 * @param {Declared[]} variables
 * @param {OwnData} own
 * @param {Schema | null} schema
 * @param {number} now  Milliseconds since 1970.
 * @returns {{ values: Record<string, unknown>, missing: string[] }}
 */
export function fillVariables(variables, own, schema, now) {
  /** A map, because a variable can have the name `__proto__`. @type {Map<string, unknown>} */
  const values = new Map();
  /** @type {string[]} */
  const missing = [];
  for (const { name, type } of variables) {
    const known = knownValue(name, type, own, now);
    if (known !== undefined && known !== "") {
      values.set(name, known);
      continue;
    }
    // Null begins a subscription at the present, and leaves a filter out.
    values.set(name, type?.kind === "NON_NULL" ? placeholder(type, schema) : null);
    if (type?.kind === "NON_NULL" && namedType(type) !== "Boolean") missing.push(name);
  }
  return { values: Object.fromEntries(values), missing };
}

/**
 * @param {string} name
 * @param {TypeRef | null} type
 * @param {OwnData} own
 * @param {number} now
 * @returns {unknown}
 */
function knownValue(name, type, own, now) {
  const plain = name.replace(/\d+$/, "");
  const values = ownValues(own, now);
  if (type && namedType(type) === "TimeRange") return { start: values.start, end: values.end };
  if (type && namedType(type) === "Period") return "P1D";
  if (type && namedType(type) === "TimeZone") return values.timeZone;
  const isList = type !== null && nullableType(type).kind === "LIST";
  const single = isList ? plain.replace(/s$/, "") : plain;
  const key = single === "id" && isList ? "resourceId" : single;
  const value = Object.hasOwn(values, key) ? values[key] : undefined; // not the constructor of all objects
  return isList && value ? [value] : value;
}

/**
 * Return values by the names that variables for them have.
 * @param {OwnData} own
 * @param {number} now
 * @returns {Record<string, unknown>}
 */
function ownValues({ applicationId, userId, accountId, homes }, now) {
  const home = homes.find(({ resources }) => resources.length > 0) ?? homes[0];
  const resources = home?.resources ?? [];
  const resource = resources.find(({ classifier }) => classifier === PREFERRED) ?? resources[0];
  const end = Math.floor(now / DAY) * DAY;
  const [start, until] = [end - DAYS * DAY, end].map((at) => new Date(at).toISOString().replace(".000Z", "Z"));
  return {
    homeId: home?.homeId,
    resourceId: resource?.resourceId,
    resourceTypeId: resource?.resourceTypeId,
    timeZone: home?.timeZone ?? "Europe/London",
    application: applicationId,
    applicationId,
    userId,
    accountId,
    start,
    from: start,
    end: until,
    to: until,
    first: 10,
  };
}

/**
 * Return an empty value of a type that the user replaces.
 * @param {TypeRef} type
 * @param {Schema | null} schema
 * @returns {unknown}
 */
function placeholder(type, schema) {
  const inner = nullableType(type);
  if (inner.kind === "LIST") return [];
  const name = namedType(inner);
  const known = schema?.type(name);
  if (known?.kind === "INPUT_OBJECT") {
    const required = [...known.inputFields.values()].filter((field) => field.type.kind === "NON_NULL" && field.defaultValue === null);
    return Object.fromEntries(required.map((field) => [field.name, placeholder(field.type, schema)]));
  }
  if (known?.kind === "ENUM") return [...known.enumValues.keys()][0] ?? "";
  if (name === "Int" || name === "Float") return 0;
  return name === "Boolean" ? false : "";
}
