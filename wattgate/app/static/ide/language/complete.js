/** Suggestions at the caret of a document, from the schema and from the document itself. */

import { typeRef } from "./declared-variables.js";
import { parseAt } from "./parser.js";
import { isComposite, isInput, isRequired, namedType, nullableType, printType } from "./schema.js";

/** @import { CaretContext, DefinitionNode, FragmentNode, OpenNode, OperationNode } from "./ast.js" */
/** @import { Field, Input, Schema, SchemaType, TypeRef } from "./schema.js" */

/**
 * A suggestion. `caretBack` is how far the caret goes back from the end of the inserted text.
 * @typedef {{ label: string, insert: string, detail: string, description: string, isDeprecated: boolean, caretBack?: number, asks?: boolean }} Suggestion
 */

const MAX_SUGGESTIONS = 60;
const KEYWORDS = { query: "Reads data.", mutation: "Changes data.", subscription: "Receives live events.", fragment: "A selection with a name." };

/**
 * Return the suggestions at the caret, best first. Null if nothing can be suggested there.
 * @param {string} source
 * @param {number} caret
 * @param {Schema | null} schema
 * @returns {{ start: number, end: number, prefix: string, items: Suggestion[] } | null}
 */
export function complete(source, caret, schema) {
  const { context, definitions } = parseAt(source, caret);
  if (!context) return null;
  const all = new Completer(schema, definitions, source.slice(caret)).suggest(context);
  const { start, prefix } = context;
  return { start, end: caret, prefix, items: rank(all, prefix) };
}

/**
 * Return the suggestions that fit a prefix: those that start with it first, deprecated ones last.
 * @param {Suggestion[]} all
 * @param {string} prefix
 */
export function rank(all, prefix) {
  const typed = prefix.toLowerCase();
  const scored = all.flatMap((one, index) => {
    const score = scoreOf(one.label, typed);
    return score === null ? [] : [{ one, score: score + (one.isDeprecated ? 10 : 0), index }];
  });
  scored.sort((first, second) => first.score - second.score || first.index - second.index);
  return scored.slice(0, MAX_SUGGESTIONS).map(({ one }) => one);
}

/**
 * @param {string} label
 * @param {string} typed
 */
function scoreOf(label, typed) {
  const name = label.toLowerCase();
  if (name === typed) return 0;
  if (name.startsWith(typed)) return 1;
  if (name.includes(typed)) return 2;
  // The letters in order, such as "hms" in "homes"; the first letter has to agree.
  let at = 0;
  for (const letter of typed) {
    at = name.indexOf(letter, at) + 1;
    if (!at) return null;
  }
  return name[0] === typed[0] ? 3 : null;
}

class Completer {
  #schema;
  #definitions;
  #rest;

  /**
   * @param {Schema | null} schema
   * @param {DefinitionNode[]} definitions
   * @param {string} rest  The text behind the caret.
   */
  constructor(schema, definitions, rest) {
    this.#schema = schema;
    this.#definitions = definitions;
    this.#rest = rest.replace(/^\w+/, "");
  }

  /**
   * @param {CaretContext} context
   * @returns {Suggestion[]}
   */
  suggest({ kind, path }) {
    switch (kind) {
      case "definition": return this.#keywords();
      case "selection": return this.#fields(path);
      case "spread": return this.#spreads(path);
      case "typeCondition": return this.#conditions(path);
      case "fragmentOn": return [item("on", { insert: "on " })];
      case "argument": return this.#arguments(path);
      case "objectField": return this.#inputFields(path);
      case "value": return this.#values(path);
      case "variable": return this.#variables(path, "");
      case "directive": return this.#directives(path);
      case "inputType": return this.#inputTypes();
      default: return [];
    }
  }

  #keywords() {
    const known = Object.entries(KEYWORDS).filter(([name]) => name === "fragment" || !this.#schema || this.#schema.root(/** @type {any} */ (name)));
    return known.map(([label, description]) => item(label, { description, insert: `${label} ` }));
  }

  /** @param {OpenNode[]} path */
  #fields(path) {
    const owner = this.#typeOf(path);
    if (!owner) return [];
    const fields = [...owner.fields.values()].map((field) => this.#fieldItem(field));
    const typename = this.#schema?.field(owner, "__typename");
    return typename ? [...fields, this.#fieldItem(typename)] : fields;
  }

  /** @param {Field} field */
  #fieldItem(field) {
    const required = [...field.args.values()].filter(isRequired);
    const type = this.#schema?.type(namedType(field.type));
    const isFollowed = /^\s*[({]/.test(this.#rest);
    let insert = field.name;
    let caretBack = 0;
    if (!isFollowed && required.length) {
      insert += `(${required.map(({ name }) => `${name}: `).join(", ")})`;
      caretBack = insert.length - field.name.length - `(${required[0].name}: `.length;
    }
    if (!isFollowed && type && isComposite(type)) {
      insert += " {  }";
      caretBack = required.length ? caretBack + 5 : 2;
    }
    return item(field.name, { ...field, detail: printType(field.type), insert, caretBack, asks: insert !== field.name });
  }

  /** @param {OpenNode[]} path */
  #spreads(path) {
    const owner = this.#typeOf(path);
    const fragments = this.#definitions.filter((one) => one.kind === "FragmentDefinition");
    const fitting = fragments.filter((one) => one.name && !path.includes(one) && this.#fits(one, owner));
    const spreads = fitting.map(({ name, typeCondition }) => item(name?.value ?? "", { detail: `on ${typeCondition?.name.value}` }));
    const conditions = this.#conditions(path).map((one) => ({ ...one, label: `on ${one.label}`, insert: `on ${one.insert} {  }`, caretBack: 2, asks: true }));
    return [...spreads, ...conditions];
  }

  /**
   * @param {FragmentNode} fragment
   * @param {SchemaType | null} owner
   */
  #fits({ typeCondition }, owner) {
    const type = this.#schema?.type(typeCondition?.name.value);
    return !type || !owner || Boolean(this.#schema?.overlap(type, owner));
  }

  /** @param {OpenNode[]} path */
  #conditions(path) {
    const isDefinition = path[path.length - 1]?.kind === "FragmentDefinition";
    const owner = isDefinition ? null : this.#typeOf(path.slice(0, path[path.length - 1]?.kind === "InlineFragment" ? -1 : undefined));
    const types = [...(this.#schema?.types.values() ?? [])].filter((type) => isComposite(type) && !type.name.startsWith("__"));
    return types.filter((type) => !owner || this.#schema?.overlap(type, owner)).map((type) => item(type.name, { description: type.description }));
  }

  /** @param {OpenNode[]} path */
  #arguments(path) {
    const owner = path[path.length - 1];
    if (owner?.kind !== "Field" && owner?.kind !== "Directive") return [];
    const given = new Set(owner.arguments.map(({ name }) => name.value));
    return this.#inputItems([...(this.#argumentsOf(path)?.values() ?? [])].filter(({ name }) => !given.has(name)));
  }

  /** @param {OpenNode[]} path */
  #inputFields(path) {
    const owner = path[path.length - 1];
    const type = this.#expected(path);
    const known = type && this.#schema?.type(namedType(type));
    const given = new Set(owner?.kind === "ObjectValue" ? owner.fields.map(({ name }) => name.value) : []);
    return this.#inputItems([...(known?.inputFields.values() ?? [])].filter(({ name }) => !given.has(name)));
  }

  /** @param {Input[]} inputs */
  #inputItems(inputs) {
    const hasColon = /^\s*:/.test(this.#rest);
    const sorted = [...inputs].sort((one, other) => Number(isRequired(other)) - Number(isRequired(one)));
    return sorted.map((one) => {
      const detail = printType(one.type) + (one.defaultValue === null ? "" : ` = ${one.defaultValue}`);
      return item(one.name, { ...one, detail, insert: hasColon ? one.name : `${one.name}: `, asks: !hasColon });
    });
  }

  /** @param {OpenNode[]} path */
  #values(path) {
    const type = this.#expected(path);
    const named = type && this.#schema?.type(namedType(type));
    const isList = type && nullableType(type).kind === "LIST" && path[path.length - 1]?.kind !== "ListValue";
    const values = [...(named?.enumValues.values() ?? [])].map((value) => item(value.name, { ...value, detail: named?.name }));
    if (named?.name === "Boolean") values.push(item("true", { detail: "Boolean" }), item("false", { detail: "Boolean" }));
    if (type && type.kind !== "NON_NULL") values.push(item("null", { detail: "No value" }));
    if (named?.kind === "INPUT_OBJECT") values.unshift(item("{ }", { detail: named.name, description: named.description, caretBack: 1, insert: "{}", asks: true }));
    if (isList) values.unshift(item("[ ]", { detail: printType(type), insert: "[]", caretBack: 1, asks: true }));
    return [...values, ...this.#variables(path, "$")];
  }

  /**
   * @param {OpenNode[]} path
   * @param {string} sign
   */
  #variables(path, sign) {
    if (path.some(({ kind }) => kind === "VariableDefinition")) return [];
    const operation = path.find((one) => one.kind === "OperationDefinition") ?? this.#definitions.find((one) => one.kind === "OperationDefinition");
    const list = operation ? /** @type {OperationNode} */ (operation).variableDefinitions : [];
    const expected = this.#expected(path);
    const name = expected && namedType(expected);
    const found = list.flatMap(({ variable, type }) => {
      const text = type ? typeText(type) : "";
      return variable.name ? [item(`${sign}${variable.name.value}`, { detail: text })] : [];
    });
    const fits = (/** @type {Suggestion} */ { detail }) => Number(detail.replace(/[[\]!]/g, "") !== name);
    return found.sort((one, other) => fits(one) - fits(other));
  }

  /** @param {OpenNode[]} path */
  #directives(path) {
    const location = locationOf(path[path.length - 1]);
    const known = [...(this.#schema?.directives.values() ?? [])].filter(({ locations }) => locations.includes(location));
    return known.map(({ name, description, args }) => {
      const [required] = [...args.values()].filter(isRequired);
      return item(name, { description, insert: required ? `${name}(${required.name}: )` : name, caretBack: required ? 1 : 0, asks: Boolean(required) });
    });
  }

  #inputTypes() {
    const types = [...(this.#schema?.types.values() ?? [])].filter(isInput);
    return types.filter(({ name }) => !name.startsWith("__")).map(({ name, description }) => item(name, { description }));
  }

  /**
   * Return the composite type in whose selection the path ends.
   * @param {OpenNode[]} path
   * @returns {SchemaType | null}
   */
  #typeOf(path) {
    const schema = this.#schema;
    /** @type {SchemaType | null} */
    let type = null;
    for (const node of schema ? path : []) {
      if (node.kind === "OperationDefinition") type = schema?.root(node.operation) ?? null;
      if (node.kind === "FragmentDefinition") type = schema?.type(node.typeCondition?.name.value) ?? null;
      if (node.kind === "InlineFragment" && node.typeCondition) type = schema?.type(node.typeCondition.name.value) ?? null;
      if (node.kind === "Field") {
        /** @type {Field | null} */
        const field = schema?.field(type, node.name.value) ?? null;
        type = field ? schema?.type(namedType(field.type)) ?? null : null;
      }
    }
    return type;
  }

  /**
   * Return the arguments of the field or directive in which the path ends.
   * @param {OpenNode[]} path
   */
  #argumentsOf(path) {
    const owner = path[path.length - 1];
    if (owner?.kind === "Directive") return this.#schema?.directives.get(owner.name?.value ?? "")?.args ?? null;
    if (owner?.kind !== "Field") return null;
    return this.#schema?.field(this.#typeOf(path.slice(0, -1)), owner.name.value)?.args ?? null;
  }

  /**
   * Return the type of the value in which the path ends.
   * @param {OpenNode[]} path
   * @returns {TypeRef | null}
   */
  #expected(path) {
    const start = path.findLastIndex(({ kind }) => kind === "Argument" || kind === "VariableDefinition");
    const node = path[start];
    /** @type {TypeRef | null} */
    let type = null;
    if (node?.kind === "Argument") type = this.#argumentsOf(path.slice(0, start))?.get(node.name.value)?.type ?? null;
    if (node?.kind === "VariableDefinition" && node.type) type = typeRef(node.type);
    for (const inner of start < 0 ? [] : path.slice(start + 1)) {
      const outer = /** @type {TypeRef | null} */ (type && nullableType(type));
      if (inner.kind === "ListValue") type = outer?.kind === "LIST" ? outer.of : outer;
      if (inner.kind === "ObjectField") {
        type = (outer && this.#schema?.type(namedType(outer))?.inputFields.get(inner.name.value)?.type) ?? null;
      }
    }
    return type;
  }
}

/** @param {OpenNode | undefined} node */
function locationOf(node) {
  if (node?.kind === "OperationDefinition") return node.operation.toUpperCase();
  const names = {
    Field: "FIELD", FragmentSpread: "FRAGMENT_SPREAD", InlineFragment: "INLINE_FRAGMENT", FragmentDefinition: "FRAGMENT_DEFINITION",
    VariableDefinition: "VARIABLE_DEFINITION",
  };
  return names[/** @type {keyof typeof names} */ (node?.kind)] ?? "";
}

/**
 * @param {import("./ast.js").TypeNode} type
 * @returns {string}
 */
function typeText(type) {
  if (type.kind === "NamedType") return type.name.value;
  return type.kind === "NonNullType" ? `${typeText(type.type)}!` : `[${type.type ? typeText(type.type) : ""}]`;
}

/**
 * @param {string} label
 * @param {{ detail?: string, description?: string, deprecationReason?: string | null, insert?: string, caretBack?: number, asks?: boolean }} [facts]
 * @returns {Suggestion}
 */
function item(label, { detail = "", description = "", deprecationReason = null, insert = label, caretBack = 0, asks = false } = {}) {
  const isDeprecated = deprecationReason !== null;
  return { label, insert, detail, description: isDeprecated ? `Deprecated: ${deprecationReason}` : description, isDeprecated, caretBack, asks };
}
