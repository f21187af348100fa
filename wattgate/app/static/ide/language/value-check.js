/** Checks literal values against the types of arguments, input fields and variables. */

import { isInput, isRequired, nullableType, printType } from "./schema.js";

/** @import { NameNode, ObjectValueNode, ScalarNode, TypeNode, ValueNode } from "./ast.js" */
/** @import { Checker } from "./check.js" */
/** @import { SchemaType, TypeRef } from "./schema.js" */

const MAX_INT = 2 ** 31;

/** The literals that the built-in scalars take. Others take any. @type {Record<string, ValueNode["kind"][]>} */
const LITERALS = {
  Int: ["IntValue"],
  Float: ["IntValue", "FloatValue"],
  String: ["StringValue"],
  Boolean: ["BooleanValue"],
  ID: ["StringValue", "IntValue"],
};

export class ValueCheck {
  #checker;

  /** @param {Checker} checker */
  constructor(checker) {
    this.#checker = checker;
  }

  /**
   * Return the type that a variable declares. Report an unknown one, or one that is no input.
   * @param {TypeNode} node
   * @returns {TypeRef | null}
   */
  variableType(node) {
    if (node.kind === "NamedType") return this.#namedType(node.name);
    const of = node.type && this.variableType(node.type);
    return of && { kind: node.kind === "ListType" ? "LIST" : "NON_NULL", of };
  }

  /**
   * @param {NameNode} name
   * @returns {TypeRef | null}
   */
  #namedType(name) {
    const { schema } = this.#checker;
    const type = schema.type(name.value);
    if (type && isInput(type)) {
      this.#checker.note("type", name, type);
      return { kind: "NAMED", name: type.name };
    }
    const known = [...schema.types.values()].filter(isInput).map((one) => one.name);
    if (type) this.#checker.report(name, `"${name.value}" is not a type of inputs.`);
    else this.#checker.reportUnknown(name, `There is no type "${name.value}".`, known);
    return null;
  }

  /**
   * Check a literal. Variables are checked by the gateway.
   * @param {ValueNode} node
   * @param {TypeRef} expected
   */
  check(node, expected) {
    if (node.kind === "Variable") return;
    if (node.kind === "NullValue") {
      if (expected.kind === "NON_NULL") this.#checker.report(node, `Null is not a ${printType(expected)}.`);
      return;
    }
    const type = nullableType(expected);
    if (type.kind === "LIST") {
      for (const value of node.kind === "ListValue" ? node.values : [node]) this.check(value, type.of);
      return;
    }
    const known = type.kind === "NAMED" ? this.#checker.schema.type(type.name) : null;
    if (known) this.#checkNamed(node, known);
  }

  /**
   * @param {Exclude<ValueNode, { kind: "Variable" | "NullValue" }>} node
   * @param {SchemaType} type
   */
  #checkNamed(node, type) {
    if (type.kind === "ENUM") this.#checkEnum(node, type);
    else if (type.kind === "SCALAR") this.#checkScalar(node, type);
    else if (node.kind === "ObjectValue") this.#checkObject(node, type);
    else this.#checker.report(node, `Expected an object of type "${type.name}".`);
  }

  /**
   * @param {ValueNode} node
   * @param {SchemaType} type
   */
  #checkEnum(node, type) {
    const names = [...type.enumValues.keys()];
    if (node.kind === "EnumValue") {
      const name = { value: node.value, start: node.start, end: node.end };
      const value = type.enumValues.get(node.value);
      if (value) this.#checker.note("enumValue", name, value, type.name);
      else this.#checker.reportUnknown(name, `The enum "${type.name}" has no value "${node.value}".`, names);
      return;
    }
    const text = node.kind === "StringValue" ? node.value.replaceAll('"', "") : "";
    const isQuoted = names.includes(text);
    this.#checker.report(node, `Expected a value of "${type.name}"${isQuoted ? ", without quotes" : ""}.`, isQuoted ? text : null);
  }

  /**
   * @param {Exclude<ValueNode, { kind: "Variable" }>} node
   * @param {SchemaType} type
   */
  #checkScalar(node, type) {
    const literals = LITERALS[type.name];
    if (!literals) return;
    if (!literals.includes(node.kind)) {
      const quoted = literals.includes("StringValue") && "value" in node ? `"${node.value}"` : null;
      this.#checker.report(node, `Expected a value of type ${type.name}.`, quoted);
    } else if (type.name === "Int" && outOfRange(/** @type {ScalarNode} */ (node).value)) {
      this.#checker.report(node, "An Int has 32 bits: this number is too large.");
    }
  }

  /**
   * @param {ObjectValueNode} node
   * @param {SchemaType} type
   */
  #checkObject(node, type) {
    const names = new Set();
    for (const { name, value } of node.fields) {
      const field = type.inputFields.get(name.value);
      if (names.has(name.value)) this.#checker.report(name, `The input field "${name.value}" is there twice.`);
      names.add(name.value);
      if (!field) {
        this.#checker.reportUnknown(name, `The input "${type.name}" has no field "${name.value}".`, type.inputFields.keys());
        continue;
      }
      this.#checker.note("inputField", name, field, type.name);
      if (value) this.check(value, field.type);
    }
    if (type.isOneOf) {
      const isOne = node.fields.length === 1 && node.fields[0].value?.kind !== "NullValue";
      if (!isOne) this.#checker.report(node, `The input "${type.name}" takes exactly one of its fields.`);
      return;
    }
    const missing = [...type.inputFields.values()].filter((field) => isRequired(field) && !names.has(field.name));
    if (missing.length) {
      const list = missing.map((field) => `"${field.name}" (${printType(field.type)})`).join(", ");
      this.#checker.report(node, `The input "${type.name}" needs ${list}.`);
    }
  }
}

/** @param {string} digits */
function outOfRange(digits) {
  const number = Number(digits);
  return number >= MAX_INT || number < -MAX_INT;
}
