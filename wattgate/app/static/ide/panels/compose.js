/**
 * Adds fields and arguments to a document and removes them. Document in, document out: what the user wrote elsewhere
 * stays as it is.
 */

import { parse } from "../language/parser.js";
import { namedType, printType } from "../language/schema.js";
import { tokenize } from "../language/lexer.js";
import { ancestors, findFields } from "./field-paths.js";
import { defaultSelections, literalArguments, wantedArguments } from "./default-selection.js";
import {
  applyEdits, declareVariable, insertInParentheses, insertSelection, insertSelectionSet, nameOperation,
  removeFromParentheses, removeNode, renderBlock, selectionsOf,
} from "./text-edits.js";

/** @import { ArgumentNode, DefinitionNode, FieldNode, FragmentNode, OperationNode } from "../language/ast.js" */
/** @import { Field, Input, Schema } from "../language/schema.js" */
/** @import { Found, Path } from "./field-paths.js" */
/** @import { Edit, NewSelection } from "./text-edits.js" */

/** @typedef {"query" | "mutation" | "subscription"} OperationKind */

/**
 * The operation to edit: that of this name, or the first one of the kind, or a new one.
 * @typedef {{ kind: OperationKind, name?: string | null }} Target
 */

/** @typedef {{ name: string, type: string }} NewVariable */

/**
 * A new text, and what changed in the variables of the operation. Null instead: the text has problems of syntax.
 * @typedef {{ text: string, operationName: string | null, added: NewVariable[], removed: string[] }} Composition
 */

/** A document with the operation to edit. */
export class Composer {
  /** @type {string} */
  #text;
  /** @type {Schema} */
  #schema;
  /** @type {Target} */
  #target;
  /** @type {DefinitionNode[]} */
  #definitions;
  /** @type {OperationNode | null} */
  #operation;
  /** @type {Edit[]} */
  #edits = [];
  /** @type {NewVariable[]} */
  #added = [];
  /** @type {string[]} */
  #removed = [];

  /**
   * @param {string} text
   * @param {Schema} schema
   * @param {Target} target
   */
  constructor(text, schema, target) {
    this.#text = text;
    this.#schema = schema;
    this.#target = target;
    this.#definitions = parse(text).definitions;
    const operations = this.#operations.filter(({ operation }) => operation === target.kind);
    this.#operation = operations.find(({ name }) => name && name.value === target.name) ?? operations[0] ?? null;
  }

  get #operations() {
    return this.#definitions.filter((one) => one.kind === "OperationDefinition");
  }

  /** The name of the operation, null if there is none or it has none. */
  get operationName() {
    return this.#operation?.name?.value ?? null;
  }

  /**
   * Return where the document selects a field. Aliases of the same field are several places.
   * @param {Path} path
   * @returns {Found[]}
   */
  find(path) {
    const root = this.#schema.root(this.#target.kind);
    return this.#operation && root ? findFields(this.#operation, root, path, this.#definitions, this.#schema) : [];
  }

  /**
   * Select a field, with its required arguments as variables and, if its type has fields, the first of them.
   * @param {Path} path
   * @returns {Composition | null}
   */
  addField(path) {
    if (this.find(path).length) return this.#result();
    const root = this.#schema.root(this.#target.kind);
    if (!root) return null;
    if (this.#target.kind === "subscription") this.#dropOtherRootFields(path[0]);
    const depth = this.#deepest(path);
    const selection = this.#newSelection(path, depth);
    if (!selection) return null;
    if (!this.#operation) return this.#addOperation(path, selection);
    const parent = depth ? this.find(path.slice(0, depth))[0].node : this.#operation;
    this.#insert(parent, selection);
    return this.#result();
  }

  /**
   * Return how many fields at the start of a path the document selects already.
   * @param {Path} path
   */
  #deepest(path) {
    for (let depth = path.length - 1; depth > 0; depth -= 1) {
      if (!path[depth - 1].startsWith("...") && this.find(path.slice(0, depth)).length) return depth;
    }
    return 0;
  }

  /**
   * @param {OperationNode | FieldNode} parent
   * @param {NewSelection} selection
   */
  #insert(parent, selection) {
    const { selectionSet } = parent;
    if (!selectionSet) {
      if (parent.kind === "Field") this.#edits.push(insertSelectionSet(this.#text, parent, selection));
      return;
    }
    // A type condition that is there already gets the selection.
    const present = selectionSet.selections.find((one) => {
      return one.kind === "InlineFragment" && one.selectionSet && `...${one.typeCondition?.name.value}` === selection.name;
    });
    if (present?.kind === "InlineFragment" && present.selectionSet && selection.children) {
      this.#edits.push(insertSelection(this.#text, present.selectionSet, selection.children[0]));
    } else {
      this.#edits.push(insertSelection(this.#text, selectionSet, selection));
    }
  }

  /**
   * Return the selection for the rest of a path.
   * @param {Path} path
   * @param {number} depth  The names that the document has already.
   * @returns {NewSelection | null}
   */
  #newSelection(path, depth) {
    let owner = this.#schema.root(this.#target.kind);
    /** @type {NewSelection | null} */
    let outer = null;
    /** @type {NewSelection | null} */
    let innermost = null;
    for (const [index, name] of path.entries()) {
      const field = name.startsWith("...") ? null : this.#schema.field(owner, name);
      owner = this.#schema.type(field ? namedType(field.type) : name.slice(3));
      if (!field && !owner) return null;
      if (index < depth) continue;
      /** @type {NewSelection} */
      const added = { name, args: field ? this.#argumentsOf(field) : [], children: null };
      if (index === path.length - 1) added.children = field ? defaultSelections(this.#schema, field) : [typename()];
      if (innermost) innermost.children = [added];
      outer ??= added;
      innermost = added;
    }
    return outer;
  }

  /**
   * @param {Field} field
   * @returns {{ name: string, value: string }[]}
   */
  #argumentsOf(field) {
    const variables = wantedArguments(field, this.#target.kind === "subscription");
    const literals = literalArguments(this.#schema, field).filter(({ name }) => !variables.some((one) => one.name === name));
    return [...variables.map((arg) => ({ name: arg.name, value: `$${this.#variableFor(arg)}` })), ...literals];
  }

  /**
   * Return the name of a variable for an argument: one that the operation has, or a new one.
   * @param {Input} arg
   * @returns {string}
   */
  #variableFor(arg) {
    const type = printType(arg.type);
    const present = new Map(this.#added.map((one) => [one.name, one.type]));
    for (const { variable, type: declared } of this.#operation?.variableDefinitions ?? []) {
      if (variable.name && declared) present.set(variable.name.value, this.#text.slice(declared.start, declared.end));
    }
    let { name } = arg;
    for (let number = 2; present.has(name) && present.get(name) !== type; number += 1) name = `${arg.name}${number}`;
    if (!present.has(name)) {
      this.#added.push({ name, type });
    }
    return name;
  }

  /**
   * @param {Path} path
   * @param {NewSelection} selection
   * @returns {Composition | null}
   */
  #addOperation(path, selection) {
    const taken = new Set(this.#operations.flatMap(({ name }) => (name ? [name.value] : [])));
    for (const operation of this.#operations) {
      if (operation.name) continue;
      const first = selectionsOf(operation).find((one) => one.kind === "Field");
      this.#edits.push(nameOperation(this.#text, operation, freeName(first?.name.value ?? operation.operation, taken)));
    }
    const name = freeName(path[0], taken);
    const variables = this.#added.map((one) => `$${one.name}: ${one.type}`).join(", ");
    const head = `${this.#target.kind} ${name}${variables && `(${variables})`}`;
    const before = this.#text.trimEnd();
    const start = before.length;
    const text = `${before && "\n\n"}${head} ${renderBlock([selection], "")}\n`;
    this.#edits.push({ start, end: this.#text.length, text });
    return this.#result(name, true);
  }

  /**
   * Remove the root fields of a subscription, which can have only one.
   * @param {string} kept
   */
  #dropOtherRootFields(kept) {
    const operation = this.#operation;
    if (!operation || !selectionsOf(operation).some((one) => one.kind !== "Field" || one.name.value !== kept)) return;
    if (this.find([kept]).length) return;
    this.#removed = this.#declared();
    this.#operation = null;
    this.#edits.push({ start: operation.start, end: operation.end, text: "" });
    this.#text = applyEdits(this.#text, this.#edits).replace(/\n{3,}/g, "\n\n");
    this.#edits = [];
    this.#definitions = parse(this.#text).definitions;
  }

  /**
   * Remove a field wherever the path leads to it. A parent without another selection goes with it.
   * @param {Path} path
   * @returns {Composition | null}
   */
  removeField(path) {
    let [text, removed] = [this.#text, /** @type {string[]} */ ([])];
    for (let composer = new Composer(text, this.#schema, this.#target); ; composer = new Composer(text, this.#schema, this.#target)) {
      const [found] = composer.find(path);
      if (!found) break;
      const next = composer.#removeNode(found.node);
      if (!next || next.text === text) return null;
      [text, removed] = [next.text, [...removed, ...next.removed]];
    }
    return this.#checked({ text, operationName: this.operationName, added: [], removed });
  }

  /**
   * @param {FieldNode} field
   * @returns {Composition | null}
   */
  #removeNode(field) {
    const chain = this.#definitions.map((definition) => ancestors(definition, field)).find((one) => one !== null);
    if (!chain) return null;
    let index = chain.length - 1;
    while (index > 0 && selectionsOf(chain[index - 1]).length === 1) index -= 1;
    const node = chain[index];
    // A fragment needs a selection; its other uses need the fragment.
    if (node.kind === "FragmentDefinition") return this.#replaceAll(node, field);
    this.#edits.push(removeNode(this.#text, node));
    if (node === this.#operation) this.#removed = this.#declared();
    else this.#dropUnusedVariables([node]);
    return this.#result();
  }

  /**
   * @param {FragmentNode} fragment
   * @param {FieldNode} field
   */
  #replaceAll({ selectionSet }, field) {
    const { start, end } = selectionSet ?? field;
    this.#edits.push({ start, end, text: "{ __typename }" });
    this.#dropUnusedVariables([field]);
    return this.#result();
  }

  #declared() {
    return (this.#operation?.variableDefinitions ?? []).flatMap(({ variable }) => (variable.name ? [variable.name.value] : []));
  }

  /**
   * Remove the definitions of variables that only the removed parts use.
   * @param {{ start: number, end: number }[]} parts
   */
  #dropUnusedVariables(parts) {
    const definitions = this.#operation?.variableDefinitions ?? [];
    const isDeclaration = (/** @type {number} */ at) => definitions.some(({ variable }) => variable.start === at);
    /** @type {[Set<string>, Set<string>]} */
    const [inside, outside] = [new Set(), new Set()];
    const tokens = tokenize(this.#text);
    tokens.forEach(({ text, start }, index) => {
      if (text !== "$" || isDeclaration(start)) return;
      const isInside = parts.some((part) => start >= part.start && start < part.end);
      (isInside ? inside : outside).add(tokens[index + 1]?.text);
    });
    const unused = definitions.filter(({ variable }) => {
      const name = variable.name?.value ?? "";
      return inside.has(name) && !outside.has(name);
    });
    this.#edits.push(...removeFromParentheses(this.#text, definitions, unused));
    this.#removed.push(...unused.map(({ variable }) => variable.name?.value ?? ""));
  }

  /**
   * Give a field an argument with a variable.
   * @param {Path} path
   * @param {string} name
   * @returns {Composition | null}
   */
  addArgument(path, name) {
    const [found] = this.find(path);
    const arg = found && this.#schema.field(found.owner, found.node.name.value)?.args.get(name);
    if (!arg) return null;
    const { node } = found;
    if (node.arguments.some((one) => one.name.value === name)) return this.#result();
    const value = `${name}: $${this.#variableFor(arg)}`;
    this.#edits.push(insertInParentheses(this.#text, node.arguments, node.name.end, value));
    return this.#result();
  }

  /**
   * Remove an argument of a field.
   * @param {Path} path
   * @param {string} name
   * @returns {Composition | null}
   */
  removeArgument(path, name) {
    const [found] = this.find(path);
    /** @type {ArgumentNode[]} */
    const removed = (found?.node.arguments ?? []).filter((one) => one.name.value === name);
    if (!removed.length) return this.#result();
    this.#edits.push(...removeFromParentheses(this.#text, found.node.arguments, removed));
    this.#dropUnusedVariables(removed);
    return this.#result();
  }

  /**
   * @param {string | null} [operationName]
   * @param {boolean} [isNew]  Whether the operation, with its variables, is in the edits already.
   * @returns {Composition | null}
   */
  #result(operationName = this.operationName, isNew = false) {
    const operation = this.#operation;
    if (!isNew && operation && this.#added.length) {
      const declared = this.#added.map(({ name, type }) => `$${name}: ${type}`).join(", ");
      this.#edits.push(declareVariable(this.#text, operation, declared));
    }
    return this.#checked({ text: applyEdits(this.#text, this.#edits), operationName, added: this.#added, removed: this.#removed });
  }

  /**
   * @param {Composition} composition
   * @returns {Composition | null}
   */
  #checked(composition) {
    return parse(composition.text).problems.length && composition.text.trim() ? null : composition;
  }
}

/** @returns {NewSelection} */
function typename() {
  return { name: "__typename", args: [], children: null };
}

/**
 * Return a name of an operation that no other one has, and take it.
 * @param {string} field
 * @param {Set<string>} taken
 * @returns {string}
 */
function freeName(field, taken) {
  const plain = field.replace(/^_+/, "") || "Operation";
  const name = plain[0].toUpperCase() + plain.slice(1);
  let free = name;
  for (let number = 2; taken.has(free); number += 1) free = `${name}${number}`;
  taken.add(free);
  return free;
}
