/** Checks the variables of an operation against the types that it declares, and completes them. */

import { declaredVariables, operationsOf } from "./language/declared-variables.js";
import { parseJson } from "./language/json.js";
import { nearestName } from "./language/nearest.js";
import { isRequired, nullableType, printType } from "./language/schema.js";

/** @import { DefinitionNode, Problem } from "./language/ast.js" */
/** @import { JsonNode, JsonObject } from "./language/json.js" */
/** @import { Input, Schema, SchemaType, TypeRef } from "./language/schema.js" */

/** @typedef {{ name: string, type: TypeRef, hasDefault: boolean }} TypedVariable */

/**
 * Return the variables of an operation whose types can be read.
 * @param {DefinitionNode[]} definitions
 * @param {string | null} operationName
 * @returns {TypedVariable[] | null}  Null if there is no operation.
 */
export function variablesOf(definitions, operationName) {
  const operations = operationsOf(definitions);
  const operation = operations.find(({ name }) => (name?.value ?? null) === operationName) ?? operations[0];
  if (!operation) return null;
  return declaredVariables(operation).flatMap(({ type, ...one }) => (type ? [{ ...one, type }] : []));
}

/**
 * Return the problems of variables: of their JSON, and of their values.
 * @param {string} text
 * @param {TypedVariable[] | null} declared
 * @param {Schema | null} schema
 * @returns {Problem[]}
 */
export function checkVariables(text, declared, schema) {
  const { node, problems } = parseJson(text);
  if (problems.length || !declared) return problems;
  const missing = declared.filter(({ type, hasDefault }) => type.kind === "NON_NULL" && !hasDefault);
  if (!node) return describeMissing(missing, 0, 0);
  if (node.kind !== "object") return [{ start: node.start, end: node.end, message: "Write the variables as a JSON object." }];
  const names = new Set(node.members.map(({ key }) => String(key.value)));
  return [
    ...describeMissing(missing.filter(({ name }) => !names.has(name)), node.start, node.start + 1),
    ...node.members.flatMap(({ key, value }) => {
      const variable = declared.find(({ name }) => name === key.value);
      if (!variable) return [unknownMember(key, `The operation has no variable "$${key.value}".`, declared.map(({ name }) => name))];
      return value ? checkValue(value, variable.type, schema) : [];
    }),
  ];
}

/**
 * @param {TypedVariable[]} missing
 * @param {number} start
 * @param {number} end
 * @returns {Problem[]}
 */
function describeMissing(missing, start, end) {
  if (!missing.length) return [];
  const list = missing.map(({ name, type }) => `"${name}" (${printType(type)})`).join(", ");
  return [{ start, end, message: `The operation needs ${list}.` }];
}

/**
 * @param {JsonNode} node
 * @param {TypeRef} expected
 * @param {Schema | null} schema
 * @returns {Problem[]}
 */
function checkValue(node, expected, schema) {
  if (node.kind === "scalar" && node.value === null) {
    return expected.kind === "NON_NULL" ? [wrong(node, `Null is not a ${printType(expected)}.`)] : [];
  }
  const type = nullableType(expected);
  if (type.kind === "LIST") {
    const items = node.kind === "array" ? node.items : [node];
    return items.flatMap((item) => checkValue(item, type.of, schema));
  }
  const known = type.kind === "NAMED" ? schema?.type(type.name) : null;
  return known ? checkNamed(node, known, schema) : [];
}

/**
 * @param {JsonNode} node
 * @param {SchemaType} type
 * @param {Schema | null} schema
 * @returns {Problem[]}
 */
function checkNamed(node, type, schema) {
  if (type.kind === "INPUT_OBJECT") {
    return node.kind === "object" ? checkObject(node, type, schema) : [wrong(node, `Expected an object of type "${type.name}".`)];
  }
  if (type.kind === "ENUM") {
    const names = [...type.enumValues.keys()];
    if (node.kind === "scalar" && names.includes(String(node.value))) return [];
    const near = node.kind === "scalar" ? nearestName(String(node.value), names) : null;
    const fix = near ? { fix: { title: `Change to ${near}`, text: JSON.stringify(near) } } : {};
    return [{ ...wrong(node, `Expected a value of the enum "${type.name}": ${listNames(names)}.`), ...fix }];
  }
  return takes(type.name, node) ? [] : [wrong(node, `Expected a value of type ${type.name}.`)];
}

/**
 * @param {string} scalar
 * @param {JsonNode} node
 */
function takes(scalar, node) {
  const value = node.kind === "scalar" ? node.value : undefined;
  if (scalar === "Int") return Number.isInteger(value) && Math.abs(Number(value)) <= 2 ** 31;
  if (scalar === "Float") return typeof value === "number";
  if (scalar === "String") return typeof value === "string";
  if (scalar === "Boolean") return typeof value === "boolean";
  return scalar !== "ID" || typeof value === "string" || Number.isInteger(value);
}

/**
 * @param {JsonObject} node
 * @param {SchemaType} type
 * @param {Schema | null} schema
 * @returns {Problem[]}
 */
function checkObject(node, type, schema) {
  const names = node.members.map(({ key }) => String(key.value));
  const problems = node.members.flatMap(({ key, value }) => {
    const field = type.inputFields.get(String(key.value));
    if (!field) return [unknownMember(key, `The input "${type.name}" has no field "${key.value}".`, [...type.inputFields.keys()])];
    return value ? checkValue(value, field.type, schema) : [];
  });
  if (type.isOneOf && names.length !== 1) problems.push(wrong(node, `The input "${type.name}" takes exactly one of its fields.`));
  const missing = [...type.inputFields.values()].filter((field) => !type.isOneOf && isRequired(field) && !names.includes(field.name));
  if (missing.length) {
    problems.push(wrong(node, `The input "${type.name}" needs ${missing.map((field) => `"${field.name}" (${printType(field.type)})`).join(", ")}.`));
  }
  return problems;
}

/**
 * @param {{ value: unknown, start: number, end: number }} key
 * @param {string} what
 * @param {string[]} names
 * @returns {Problem}
 */
function unknownMember({ value, start, end }, what, names) {
  const near = nearestName(String(value), names);
  const message = near ? `${what} Did you mean "${near}"?` : what;
  return { start, end, message, ...(near && { fix: { title: `Change to ${near}`, text: JSON.stringify(near) } }) };
}

/**
 * @param {JsonNode} node
 * @param {string} message
 * @returns {Problem}
 */
function wrong({ start, end }, message) {
  return { start, end, message };
}

/** @param {string[]} names */
function listNames(names) {
  return names.length > 8 ? `${names.slice(0, 8).join(", ")} and ${names.length - 8} more` : names.join(", ");
}

/** @typedef {{ label: string, insert: string, detail: string, description: string, isDeprecated: boolean, caretBack?: number }} JsonItem */

/**
 * Return what completes the variables at the caret.
 * @param {string} text
 * @param {number} caret
 * @param {TypedVariable[] | null} declared
 * @param {Schema | null} schema
 * @returns {{ start: number, items: JsonItem[] } | null}
 */
export function completeVariables(text, caret, declared, schema) {
  if (!text.trim()) return { start: caret, items: declared?.length ? [skeleton(declared, schema)] : [] };
  const { context } = parseJson(text, caret);
  if (!context || !declared) return null;
  const { kind, path, keys, prefix, isQuoted, start } = context;
  if (path.length === 0 && kind === "value") return null;
  const type = typeAt(path, declared, schema);
  const isClosed = isQuoted && text[caret] === '"';
  /** @type {(name: string) => string} */
  const quote = (name) => (isClosed ? `"${name}` : `"${name}"`);
  if (kind === "value") {
    const items = type ? valuesOf(type, schema).filter(([label]) => matches(label, prefix)) : [];
    return { start, items: items.map(([label, detail, isText]) => ({ label, insert: isText ? quote(label) : label, detail, description: "", isDeprecated: false })) };
  }
  const hasColon = /^"?\s*:/.test(text.slice(caret));
  const members = path.length === 0 ? declared.map(({ name, type: of }) => ({ name, type: of, description: "" })) : inputFields(type, schema);
  const items = members.filter(({ name }) => matches(name, prefix) && !keys.includes(name)).map(({ name, type: of, description }) => ({
    label: name, insert: hasColon || isClosed ? quote(name) : `"${name}": `, detail: printType(of), description, isDeprecated: false,
  }));
  return { start, items };
}

/**
 * @param {(string | 0)[]} path
 * @param {TypedVariable[]} declared
 * @param {Schema | null} schema
 * @returns {TypeRef | null}
 */
function typeAt(path, declared, schema) {
  const [first, ...rest] = path;
  let type = declared.find(({ name }) => name === first)?.type ?? null;
  for (const step of rest) {
    const inner = type && nullableType(type);
    if (!inner) return null;
    if (step === 0) {
      type = inner.kind === "LIST" ? inner.of : null;
      continue;
    }
    const field = inputFields(inner, schema).find(({ name }) => name === step);
    type = field?.type ?? null;
  }
  return type;
}

/**
 * @param {TypeRef | null} type
 * @param {Schema | null} schema
 * @returns {Input[]}
 */
function inputFields(type, schema) {
  const inner = type && nullableType(type);
  return inner?.kind === "NAMED" ? [...(schema?.type(inner.name)?.inputFields.values() ?? [])] : [];
}

/**
 * Return values with their descriptions, and whether they are texts.
 * @param {TypeRef} type
 * @param {Schema | null} schema
 * @returns {[string, string, boolean][]}
 */
function valuesOf(type, schema) {
  const inner = nullableType(type);
  if (inner.kind !== "NAMED") return [];
  if (inner.name === "Boolean") return [["true", "Boolean", false], ["false", "Boolean", false]];
  const known = schema?.type(inner.name);
  return [...(known?.enumValues.values() ?? [])].map(({ name, description }) => [name, description, true]);
}

/**
 * All variables with empty values of their types.
 * @param {TypedVariable[]} declared
 * @param {Schema | null} schema
 * @returns {JsonItem}
 */
function skeleton(declared, schema) {
  const lines = declared.map(({ name, type }) => `  ${JSON.stringify(name)}: ${emptyValue(type, schema)}`);
  return { label: "{ all variables }", insert: `{\n${lines.join(",\n")}\n}`, detail: "", description: "Insert all variables of the operation.", isDeprecated: false };
}

/**
 * @param {TypeRef} type
 * @param {Schema | null} schema
 * @param {number} [depth]
 * @returns {string}
 */
function emptyValue(type, schema, depth = 0) {
  const inner = nullableType(type);
  if (inner.kind === "LIST") return "[]";
  if (inner.kind !== "NAMED") return "null";
  const known = schema?.type(inner.name);
  if (known?.kind === "INPUT_OBJECT" && depth < 3) {
    const fields = [...known.inputFields.values()].filter((field, index) => (known.isOneOf ? index === 0 : isRequired(field)));
    return fields.length ? `{ ${fields.map((field) => `${JSON.stringify(field.name)}: ${emptyValue(field.type, schema, depth + 1)}`).join(", ")} }` : "{}";
  }
  if (known?.kind === "ENUM") return JSON.stringify([...known.enumValues.keys()][0] ?? "");
  if (inner.name === "Int" || inner.name === "Float") return "0";
  return inner.name === "Boolean" ? "false" : '""';
}

/** @param {string} label @param {string} prefix */
function matches(label, prefix) {
  return label.toLowerCase().includes(prefix.toLowerCase());
}
