/**
 * Checks a document against the schema while it is typed: unknown names with the nearest known one, missing arguments and
 * selections, variables and fragments. The gateway validates all rules in a dry run; these need no request.
 */

import { checkFragments, collectFragments } from "./fragment-check.js";
import { nearestName } from "./nearest.js";
import { isComposite, isRequired, namedType, printType } from "./schema.js";
import { ValueCheck } from "./value-check.js";

/** @import { ArgumentNode, DefinitionNode, DirectiveNode, FieldNode, NameNode, OperationNode, Problem, SelectionSetNode } from "./ast.js" */
/** @import { Input, Schema, SchemaType, TypeRef } from "./schema.js" */

/**
 * A part of the document that the schema knows. `owner` is the type of a field, or the field of an argument.
 * @typedef {{ kind: "field" | "argument" | "type" | "directive" | "enumValue" | "inputField" | "variable" | "fragment", name: string, owner: string, type: string, description: string, deprecationReason: string | null, start: number, end: number }} DocumentSymbol
 */

const MAX_PROBLEMS = 50;

export class Checker {
  /** @type {Problem[]} */
  problems = [];
  /** @type {DocumentSymbol[]} */
  symbols = [];
  schema;
  values = new ValueCheck(this);

  /** @param {Schema} schema */
  constructor(schema) {
    this.schema = schema;
  }

  /**
   * @param {{ start: number, end: number }} place
   * @param {string} message
   * @param {string | null} [replacement]  The text that corrects the place.
   */
  report({ start, end }, message, replacement = null) {
    if (this.problems.length >= MAX_PROBLEMS) return;
    const fix = replacement === null ? {} : { fix: { title: `Change to ${replacement}`, text: replacement } };
    this.problems.push({ start, end, message, ...fix });
  }

  /**
   * Report an unknown name, with the nearest known one.
   * @param {NameNode} name
   * @param {string} what
   * @param {Iterable<string>} known
   */
  reportUnknown(name, what, known) {
    const near = nearestName(name.value, known);
    this.report(name, `${what}${near ? ` Did you mean "${near}"?` : ""}`, near);
  }

  /**
   * @param {DocumentSymbol["kind"]} kind
   * @param {NameNode} name
   * @param {{ description: string, type?: TypeRef, deprecationReason?: string | null }} known
   * @param {string} [owner]
   */
  note(kind, name, { description, type, deprecationReason = null }, owner = "") {
    const { value, start, end } = name;
    this.symbols.push({ kind, name: value, owner, type: type ? printType(type) : "", description, deprecationReason, start, end });
  }

  /** @param {DefinitionNode} definition */
  definition(definition) {
    if (definition.kind === "OperationDefinition") {
      this.operation(definition);
      return;
    }
    const type = definition.typeCondition && this.condition(definition.typeCondition.name);
    this.directives(definition.directives);
    if (type && definition.selectionSet) this.selections(definition.selectionSet, type);
  }

  /** @param {OperationNode} operation */
  operation(operation) {
    const root = this.schema.root(operation.operation);
    if (!root) this.report({ start: operation.start, end: operation.start + operation.operation.length }, `The schema has no ${operation.operation}.`);
    for (const { type, defaultValue, directives } of operation.variableDefinitions) {
      const expected = type && this.values.variableType(type);
      if (expected && defaultValue) this.values.check(defaultValue, expected);
      this.directives(directives);
    }
    this.directives(operation.directives);
    if (root && operation.selectionSet) this.selections(operation.selectionSet, root);
  }

  /**
   * @param {SelectionSetNode} set
   * @param {SchemaType} owner
   */
  selections(set, owner) {
    for (const selection of set.selections) {
      if (selection.kind === "Field") {
        this.field(selection, owner);
        continue;
      }
      this.directives(selection.directives);
      if (selection.kind !== "InlineFragment") continue;
      const type = selection.typeCondition ? this.condition(selection.typeCondition.name) : owner;
      if (type && type !== owner && !this.schema.overlap(type, owner)) {
        this.report(selection.typeCondition ?? selection, `An object of type "${owner.name}" is never a "${type.name}".`);
      }
      if (type && selection.selectionSet) this.selections(selection.selectionSet, type);
    }
  }

  /**
   * @param {FieldNode} node
   * @param {SchemaType} owner
   */
  field(node, owner) {
    const field = this.schema.field(owner, node.name.value);
    this.directives(node.directives);
    if (!field) {
      this.reportUnknown(node.name, `The type "${owner.name}" has no field "${node.name.value}".`, owner.fields.keys());
      return;
    }
    this.note("field", node.name, field, owner.name);
    this.arguments(node.arguments, field.args, `field "${field.name}"`, field.name, node.name);
    const type = this.schema.type(namedType(field.type));
    if (!type) return;
    if (!isComposite(type)) {
      if (node.selectionSet) this.report(node.selectionSet, `"${field.name}" is a ${type.name} and has no fields.`);
    } else if (node.selectionSet) {
      this.selections(node.selectionSet, type);
    } else {
      this.report(node.name, `"${field.name}" is a ${type.name}: select its fields in "{ }".`);
    }
  }

  /**
   * @param {ArgumentNode[]} nodes
   * @param {Map<string, Input>} known
   * @param {string} what  The owner in words.
   * @param {string} owner
   * @param {NameNode} place
   */
  arguments(nodes, known, what, owner, place) {
    const names = new Set();
    for (const { name, value } of nodes) {
      const argument = known.get(name.value);
      if (names.has(name.value)) this.report(name, `The argument "${name.value}" is there twice.`);
      names.add(name.value);
      if (!argument) {
        this.reportUnknown(name, `The ${what} has no argument "${name.value}".`, known.keys());
        continue;
      }
      this.note("argument", name, argument, owner);
      if (value) this.values.check(value, argument.type);
    }
    const missing = [...known.values()].filter((argument) => isRequired(argument) && !names.has(argument.name));
    if (missing.length) {
      const list = missing.map(({ name, type }) => `"${name}" (${printType(type)})`).join(", ");
      this.report(place, `The ${what} needs the argument ${list}.`);
    }
  }

  /** @param {DirectiveNode[]} nodes */
  directives(nodes) {
    for (const { name, arguments: list } of nodes) {
      if (!name) continue;
      const directive = this.schema.directives.get(name.value);
      if (directive) {
        this.note("directive", name, directive);
        this.arguments(list, directive.args, `directive "@${name.value}"`, `@${name.value}`, name);
      } else {
        this.reportUnknown(name, `There is no directive "@${name.value}".`, this.schema.directives.keys());
      }
    }
  }

  /** @param {NameNode} name */
  condition(name) {
    const type = this.schema.type(name.value);
    if (type && isComposite(type)) {
      this.note("type", name, type);
      return type;
    }
    const composite = [...this.schema.types.values()].filter(isComposite).map((one) => one.name);
    if (type) this.report(name, `"${name.value}" has no fields, so a fragment cannot be on it.`);
    else this.reportUnknown(name, `There is no type "${name.value}".`, composite);
    return null;
  }
}

/**
 * Check the definitions of a document. Without a schema, only variables, names and fragments are checked.
 * @param {DefinitionNode[]} definitions
 * @param {Schema | null} schema
 * @returns {{ problems: Problem[], symbols: DocumentSymbol[] }}
 */
export function checkDocument(definitions, schema) {
  const fragments = collectFragments(definitions);
  const problems = checkFragments(definitions, fragments);
  if (!schema) return { problems, symbols: [] };
  const checker = new Checker(schema);
  for (const definition of definitions) checker.definition(definition);
  const all = [...checker.problems, ...problems].sort((one, other) => one.start - other.start);
  return { problems: all.slice(0, MAX_PROBLEMS), symbols: checker.symbols };
}
