/**
 * A parser of executable documents, by the edition of September 2025. It accepts a document in the middle of typing: it
 * reports problems, returns the parts that it understands, and finds the context of the caret.
 */

import { parseArguments, parseDirectives, parseType, parseValue } from "./value-parser.js";
import { TokenReader } from "./token-reader.js";

/** @import { CaretContext, DefinitionNode, DescriptionNode, FieldNode, FragmentNode, OperationNode, Problem, SelectionNode, SelectionSetNode, VariableDefinitionNode } from "./ast.js" */
/** @import { Token } from "./lexer.js" */

/**
 * @typedef {object} ParsedDocument
 * @property {DefinitionNode[]} definitions
 * @property {Problem[]} problems
 * @property {Token[]} comments
 * @property {CaretContext | null} context
 */

/** Nesting of selections above which a document is refused, as by the gateway; it bounds the stack. */
export const MAX_DEPTH = 100;
const OPERATIONS = ["query", "mutation", "subscription"];
const TYPE_SYSTEM = ["schema", "scalar", "type", "interface", "union", "enum", "input", "directive", "extend"];

/** Documents that are kept. The parts of the page ask for the same text one after another. */
const MAX_KEPT = 4;
/** @type {Map<string, ParsedDocument>} */
const kept = new Map();

/**
 * Parse a document. The result is shared, so nobody may change it.
 * @param {string} source
 * @returns {ParsedDocument}
 */
export function parse(source) {
  const parsed = kept.get(source) ?? parseAt(source);
  // The map is in the order of use: the last one is the newest.
  kept.delete(source);
  kept.set(source, parsed);
  if (kept.size > MAX_KEPT) kept.delete([...kept.keys()][0]);
  return parsed;
}

/**
 * Parse a document. `caret` is the offset whose context the result has.
 * @param {string} source
 * @param {number} [caret]
 * @returns {ParsedDocument}
 */
export function parseAt(source, caret) {
  const reader = new TokenReader(source, caret);
  /** @type {DefinitionNode[]} */
  const definitions = [];
  while (!reader.isAtEnd) {
    reader.offer("definition");
    const before = reader.at;
    const definition = parseDefinition(reader);
    if (definition) definitions.push(definition);
    if (reader.at === before) {
      reportUnexpected(reader);
      reader.take();
      skipToDefinition(reader);
    }
  }
  reader.offer("definition");
  reader.problems.sort((one, other) => one.start - other.start);
  return { definitions, problems: reader.problems, comments: reader.comments, context: reader.context };
}

/** @param {TokenReader} reader */
function reportUnexpected(reader) {
  const word = reader.peek();
  if (TYPE_SYSTEM.includes(word)) {
    reader.reportNext(`"${word}" defines a part of a schema. A document that runs has operations and fragments.`);
  } else if (word === "}") {
    reader.reportNext('This "}" closes nothing.');
  } else {
    reader.reportNext('Expected "query", "mutation", "subscription", "fragment" or "{".');
  }
}

/** @param {TokenReader} reader */
function skipToDefinition(reader) {
  let depth = 0;
  while (!reader.isAtEnd) {
    const word = reader.peek();
    if (depth <= 0 && reader.isName() && (OPERATIONS.includes(word) || word === "fragment")) return;
    if (word === "{") depth += 1;
    if (word === "}") depth -= 1;
    reader.take();
    if (word === "}" && depth <= 0) return;
  }
}

/**
 * @param {TokenReader} reader
 * @returns {DefinitionNode | null}
 */
function parseDefinition(reader) {
  const description = parseDescription(reader);
  if (description) reader.offer("definition");
  const word = reader.peek();
  if (OPERATIONS.includes(word) || word === "{") return parseOperation(reader, description);
  return word === "fragment" ? parseFragment(reader, description) : null;
}

/**
 * @param {TokenReader} reader
 * @returns {DescriptionNode | null}
 */
function parseDescription(reader) {
  const kind = reader.next?.kind;
  if (kind !== "String" && kind !== "BlockString") return null;
  const { text, start, end } = reader.take();
  return { value: text, isBlock: kind === "BlockString", start, end };
}

/**
 * @param {TokenReader} reader
 * @param {DescriptionNode | null} description
 * @returns {OperationNode}
 */
function parseOperation(reader, description) {
  const isShort = reader.peek() === "{";
  const start = description?.start ?? reader.next?.start ?? 0;
  const operation = /** @type {OperationNode["operation"]} */ (isShort ? "query" : reader.take().text);
  /** @type {OperationNode} */
  const node = {
    kind: "OperationDefinition", operation, isShort, description, name: null, variableDefinitions: [], directives: [],
    selectionSet: null, start, end: start,
  };
  if (isShort && description) reader.report(description.start, description.end, 'Write "query" after a description.');
  reader.open.push(node);
  if (!isShort) {
    node.name = reader.takeName();
    parseVariableDefinitions(reader, node);
    node.directives = parseDirectives(reader);
  }
  node.selectionSet = parseRequiredSelectionSet(reader, "The operation");
  reader.open.pop();
  node.end = reader.lastEnd;
  return node;
}

/**
 * @param {TokenReader} reader
 * @param {OperationNode} operation
 */
function parseVariableDefinitions(reader, operation) {
  if (!reader.skip("(")) return;
  while (!reader.isAtEnd && ![")", "{"].includes(reader.peek())) {
    reader.offer("variableDefinition");
    const before = reader.at;
    const description = parseDescription(reader);
    if (reader.peek() === "$") operation.variableDefinitions.push(parseVariableDefinition(reader, description));
    if (reader.at === before) {
      reader.reportNext('A variable starts with "$".');
      reader.take();
    }
  }
  reader.offer("variableDefinition");
  reader.expect(")", "The list of variables");
}

/**
 * @param {TokenReader} reader
 * @param {DescriptionNode | null} description
 * @returns {VariableDefinitionNode}
 */
function parseVariableDefinition(reader, description) {
  const { start } = reader.take();
  const name = reader.takeName();
  if (!name) reader.reportNext('The variable needs a name after "$".');
  /** @type {VariableDefinitionNode} */
  const node = {
    kind: "VariableDefinition", description, type: null, defaultValue: null, directives: [],
    variable: { kind: "Variable", name, start, end: reader.lastEnd },
    start: description?.start ?? start, end: reader.lastEnd,
  };
  reader.open.push(node);
  reader.expect(":", "The variable");
  reader.offer("inputType");
  node.type = parseType(reader);
  if (reader.skip("=")) node.defaultValue = parseValue(reader);
  node.directives = parseDirectives(reader);
  reader.open.pop();
  node.end = reader.lastEnd;
  return node;
}

/**
 * @param {TokenReader} reader
 * @param {DescriptionNode | null} description
 * @returns {FragmentNode}
 */
function parseFragment(reader, description) {
  const { start } = reader.take();
  /** @type {FragmentNode} */
  const node = {
    kind: "FragmentDefinition", description, name: null, typeCondition: null, directives: [], selectionSet: null,
    start: description?.start ?? start, end: start,
  };
  reader.open.push(node);
  if (reader.peek() !== "on") node.name = reader.takeName();
  if (!node.name) reader.reportNext("The fragment needs a name.");
  reader.offer("fragmentOn");
  reader.expect("on", "The fragment");
  node.typeCondition = parseTypeCondition(reader);
  node.directives = parseDirectives(reader);
  node.selectionSet = parseRequiredSelectionSet(reader, "The fragment");
  reader.open.pop();
  node.end = reader.lastEnd;
  return node;
}

/** @param {TokenReader} reader */
function parseTypeCondition(reader) {
  reader.offer("typeCondition");
  const name = reader.takeName();
  if (!name) reader.reportNext('Name a type after "on".');
  return name && { kind: /** @type {const} */ ("NamedType"), name, start: name.start, end: name.end };
}

/**
 * @param {TokenReader} reader
 * @param {string} owner
 */
function parseRequiredSelectionSet(reader, owner) {
  if (reader.peek() === "{") return parseSelectionSet(reader);
  reader.reportNext(`${owner} needs a selection of fields in "{ }".`);
  return null;
}

/**
 * @param {TokenReader} reader
 * @returns {SelectionSetNode}
 */
function parseSelectionSet(reader) {
  const { start } = reader.take();
  /** @type {SelectionSetNode} */
  const node = { kind: "SelectionSet", selections: [], start, end: start };
  reader.open.push(node);
  if (reader.open.length > MAX_DEPTH) skipBraces(reader);
  while (!reader.isAtEnd && reader.peek() !== "}") {
    reader.offer("selection");
    const selection = parseSelection(reader);
    if (selection) {
      node.selections.push(selection);
    } else {
      reader.reportNext('Expected a field, "..." or "}".');
      reader.take();
    }
  }
  reader.offer("selection");
  const isEmpty = !node.selections.length && reader.peek() === "}";
  if (isEmpty) reader.report(start, reader.next?.end ?? start, "Select at least one field.");
  if (!reader.skip("}")) reader.report(start, start + 1, 'This "{" is not closed.');
  reader.open.pop();
  node.end = reader.lastEnd;
  return node;
}

/**
 * Skip a selection that is nested too deep, up to its closing brace.
 * @param {TokenReader} reader
 */
function skipBraces(reader) {
  reader.reportNext(`The selection is nested more than ${MAX_DEPTH / 2} levels deep.`);
  let depth = 0;
  while (!reader.isAtEnd && (depth || reader.peek() !== "}")) {
    if (reader.peek() === "{") depth += 1;
    if (reader.peek() === "}") depth -= 1;
    reader.take();
  }
}

/**
 * @param {TokenReader} reader
 * @returns {SelectionNode | null}
 */
function parseSelection(reader) {
  if (reader.peek() === "...") return parseSpread(reader);
  return reader.isName() ? parseField(reader) : null;
}

/**
 * @param {TokenReader} reader
 * @returns {FieldNode}
 */
function parseField(reader) {
  const { text: value, start, end } = reader.take();
  const first = { value, start, end };
  /** @type {FieldNode} */
  const node = { kind: "Field", alias: null, name: first, arguments: [], directives: [], selectionSet: null, start, end };
  if (reader.skip(":")) {
    reader.offer("selection");
    const name = reader.takeName();
    if (name) [node.alias, node.name] = [first, name];
    else reader.reportNext("Name a field after the alias.");
  }
  reader.open.push(node);
  node.arguments = parseArguments(reader);
  node.directives = parseDirectives(reader);
  if (reader.peek() === "{") node.selectionSet = parseSelectionSet(reader);
  reader.open.pop();
  node.end = reader.lastEnd;
  return node;
}

/**
 * @param {TokenReader} reader
 * @returns {SelectionNode}
 */
function parseSpread(reader) {
  const { start } = reader.take();
  reader.offer("spread");
  if (reader.isName() && reader.peek() !== "on") {
    const name = reader.takeName();
    /** @type {import("./ast.js").FragmentSpreadNode} */
    const spread = { kind: "FragmentSpread", name, directives: [], start, end: reader.lastEnd };
    reader.open.push(spread);
    spread.directives = parseDirectives(reader);
    reader.open.pop();
    spread.end = reader.lastEnd;
    return spread;
  }
  /** @type {import("./ast.js").InlineFragmentNode} */
  const node = { kind: "InlineFragment", typeCondition: null, directives: [], selectionSet: null, start, end: start };
  reader.open.push(node);
  if (reader.skip("on")) node.typeCondition = parseTypeCondition(reader);
  node.directives = parseDirectives(reader);
  if (reader.peek() === "{") node.selectionSet = parseSelectionSet(reader);
  else reader.report(start, start + 3, 'Name a fragment after "...", or write "on", a type and a selection.');
  reader.open.pop();
  node.end = reader.lastEnd;
  return node;
}
