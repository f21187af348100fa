/** The schema, from the answer to the introspection query. */

/** @typedef {{ kind: "NAMED", name: string } | { kind: "LIST" | "NON_NULL", of: TypeRef }} TypeRef */

/**
 * An argument or an input field. `defaultValue` is GraphQL text.
 * @typedef {object} Input
 * @property {string} name
 * @property {string} description
 * @property {TypeRef} type
 * @property {string | null} defaultValue
 * @property {string | null} deprecationReason
 */

/** @typedef {{ name: string, description: string, args: Map<string, Input>, type: TypeRef, deprecationReason: string | null }} Field */
/** @typedef {{ name: string, description: string, deprecationReason: string | null }} EnumValue */

/**
 * @typedef {object} SchemaType
 * @property {"SCALAR" | "OBJECT" | "INTERFACE" | "UNION" | "ENUM" | "INPUT_OBJECT"} kind
 * @property {string} name
 * @property {string} description
 * @property {Map<string, Field>} fields
 * @property {Map<string, Input>} inputFields
 * @property {Map<string, EnumValue>} enumValues
 * @property {string[]} possibleTypes
 * @property {string[]} interfaces
 * @property {boolean} isOneOf
 * @property {string | null} specifiedByURL
 */

/** @typedef {{ name: string, description: string, args: Map<string, Input>, locations: string[], isRepeatable: boolean }} Directive */

const TYPE_REF = "kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } }";
const INPUT = `name description type { ${TYPE_REF} } defaultValue isDeprecated deprecationReason`;

/** The introspection query. It asks for deprecated members, and for `@oneOf`. */
export const INTROSPECTION_QUERY = `query IdeIntrospection {
  __schema {
    queryType { name } mutationType { name } subscriptionType { name }
    types {
      kind name description specifiedByURL isOneOf
      fields(includeDeprecated: true) {
        name description args(includeDeprecated: true) { ${INPUT} } type { ${TYPE_REF} } isDeprecated deprecationReason
      }
      inputFields(includeDeprecated: true) { ${INPUT} }
      interfaces { name } possibleTypes { name }
      enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
    }
    directives { name description locations isRepeatable args(includeDeprecated: true) { ${INPUT} } }
  }
}`;

const TYPENAME = makeField({
  name: "__typename", description: "The name of the object's type.",
  type: { kind: "NON_NULL", ofType: { kind: "SCALAR", name: "String" } },
});

export class Schema {
  /** @type {string | null} */
  query;
  /** @type {string | null} */
  mutation;
  /** @type {string | null} */
  subscription;
  /** @type {Map<string, SchemaType>} */
  types;
  /** @type {Map<string, Directive>} */
  directives;

  /** @param {any} introspected  The member `__schema` of the answer. */
  constructor(introspected) {
    this.query = introspected.queryType?.name ?? null;
    this.mutation = introspected.mutationType?.name ?? null;
    this.subscription = introspected.subscriptionType?.name ?? null;
    this.types = byName(introspected.types.map(makeType));
    this.directives = byName(introspected.directives.map((/** @type {any} */ one) => ({
      name: one.name, description: one.description ?? "", locations: one.locations, isRepeatable: Boolean(one.isRepeatable),
      args: byName((one.args ?? []).map(makeInput)),
    })));
  }

  /**
   * @param {string | null | undefined} name
   * @returns {SchemaType | null}
   */
  type(name) {
    return (name && this.types.get(name)) || null;
  }

  /**
   * Return the root type of an operation.
   * @param {"query" | "mutation" | "subscription"} operation
   */
  root(operation) {
    return this.type(this[operation]);
  }

  /**
   * Return a field of a type. All composite types have `__typename`, and the query root has introspection.
   * @param {SchemaType | null} owner
   * @param {string} name
   * @returns {Field | null}
   */
  field(owner, name) {
    if (!owner) return null;
    if (name === "__typename" && isComposite(owner)) return TYPENAME;
    if (owner.name === this.query && name === "__schema") return introspectionField(name, "__Schema");
    if (owner.name === this.query && name === "__type") return introspectionField(name, "__Type");
    return owner.fields.get(name) ?? null;
  }

  /**
   * Return the names of the object types that a composite type can be.
   * @param {SchemaType} type
   */
  objectTypes(type) {
    return type.kind === "OBJECT" ? [type.name] : type.possibleTypes;
  }

  /**
   * Return whether an object can be of both types.
   * @param {SchemaType} one
   * @param {SchemaType} other
   */
  overlap(one, other) {
    const names = new Set(this.objectTypes(one));
    return this.objectTypes(other).some((name) => names.has(name));
  }
}

/** @param {SchemaType} type */
export function isComposite({ kind }) {
  return kind === "OBJECT" || kind === "INTERFACE" || kind === "UNION";
}

/** @param {SchemaType} type */
export function isInput({ kind }) {
  return kind === "SCALAR" || kind === "ENUM" || kind === "INPUT_OBJECT";
}

/**
 * Return a type as GraphQL writes it, such as `[ID!]!`.
 * @param {TypeRef} type
 * @returns {string}
 */
export function printType(type) {
  if (type.kind === "NAMED") return type.name;
  return type.kind === "LIST" ? `[${printType(type.of)}]` : `${printType(type.of)}!`;
}

/**
 * Return the name of the innermost type.
 * @param {TypeRef} type
 * @returns {string}
 */
export function namedType(type) {
  return type.kind === "NAMED" ? type.name : namedType(type.of);
}

/**
 * Return the type without its outer `!`.
 * @param {TypeRef} type
 * @returns {Exclude<TypeRef, { kind: "NON_NULL" }>}
 */
export function nullableType(type) {
  return /** @type {any} */ (type.kind === "NON_NULL" ? type.of : type);
}

/** @param {Input} input */
export function isRequired({ type, defaultValue }) {
  return type.kind === "NON_NULL" && defaultValue === null;
}

/** @param {string} name @param {string} type */
function introspectionField(name, type) {
  const isNamed = name === "__type";
  const required = { kind: "NON_NULL", ofType: { kind: "SCALAR", name: "String" } };
  return makeField({
    name, description: "Introspection of the schema.", type: { kind: "OBJECT", name: type },
    args: isNamed ? [{ name: "name", type: required }] : [],
  });
}

/**
 * @param {any} one
 * @returns {SchemaType}
 */
function makeType(one) {
  return {
    kind: one.kind,
    name: one.name,
    description: one.description ?? "",
    fields: byName((one.fields ?? []).map(makeField)),
    inputFields: byName((one.inputFields ?? []).map(makeInput)),
    enumValues: byName((one.enumValues ?? []).map((/** @type {any} */ value) => ({
      name: value.name, description: value.description ?? "", deprecationReason: deprecation(value),
    }))),
    possibleTypes: (one.possibleTypes ?? []).map((/** @type {any} */ { name }) => name),
    interfaces: (one.interfaces ?? []).map((/** @type {any} */ { name }) => name),
    isOneOf: Boolean(one.isOneOf),
    specifiedByURL: one.specifiedByURL ?? null,
  };
}

/**
 * @param {any} one
 * @returns {Field}
 */
function makeField(one) {
  return {
    name: one.name, description: one.description ?? "", args: byName((one.args ?? []).map(makeInput)), type: makeTypeRef(one.type),
    deprecationReason: deprecation(one),
  };
}

/**
 * @param {any} one
 * @returns {Input}
 */
function makeInput(one) {
  return {
    name: one.name, description: one.description ?? "", type: makeTypeRef(one.type), defaultValue: one.defaultValue ?? null,
    deprecationReason: deprecation(one),
  };
}

/** @param {any} one */
function deprecation(one) {
  return one.isDeprecated ? one.deprecationReason ?? "No longer supported" : null;
}

/**
 * @param {any} type
 * @returns {TypeRef}
 */
function makeTypeRef(type) {
  if (type.kind === "LIST" || type.kind === "NON_NULL") return { kind: type.kind, of: makeTypeRef(type.ofType) };
  return { kind: "NAMED", name: type.name };
}

/**
 * @template {{ name: string }} T
 * @param {T[]} list
 * @returns {Map<string, T>}
 */
function byName(list) {
  return new Map(list.map((one) => [one.name, one]));
}
