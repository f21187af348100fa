/** The parts of a document inside of parentheses: arguments, values, types; and directives. */

/** @import { ArgumentNode, DirectiveNode, ListTypeNode, NamedTypeNode, ObjectFieldNode, TypeNode, ValueNode } from "./ast.js" */
/** @import { TokenReader } from "./token-reader.js" */

/** Nesting of values above which a document is refused. It bounds the stack. */
const MAX_VALUE_DEPTH = 200;
const CLOSING = [")", "}", "]", "{"];

/**
 * Parse the arguments in parentheses, if there are some.
 * @param {TokenReader} reader
 * @returns {ArgumentNode[]}
 */
export function parseArguments(reader) {
  /** @type {ArgumentNode[]} */
  const found = [];
  if (!reader.skip("(")) return found;
  const opened = reader.tokens[reader.at - 1];
  while (!reader.isAtEnd && !CLOSING.includes(reader.peek())) {
    reader.offer("argument");
    const name = reader.takeName();
    if (name) {
      found.push(parseArgument(reader, name));
    } else {
      reader.reportNext('Expected the name of an argument or ")".');
      reader.take();
    }
  }
  reader.offer("argument");
  if (!found.length && reader.peek() === ")") {
    reader.report(opened.start, reader.next?.end ?? opened.end, "Write an argument, or remove the parentheses.");
  }
  if (!reader.skip(")")) reader.report(opened.start, opened.end, 'This "(" is not closed.');
  return found;
}

/**
 * @param {TokenReader} reader
 * @param {import("./ast.js").NameNode} name
 * @returns {ArgumentNode}
 */
function parseArgument(reader, name) {
  /** @type {ArgumentNode} */
  const node = { kind: "Argument", name, value: null, start: name.start, end: name.end };
  reader.open.push(node);
  if (reader.skip(":")) node.value = parseValue(reader);
  else reader.report(name.start, name.end, `The argument "${name.value}" needs ":" and a value.`);
  reader.open.pop();
  node.end = reader.lastEnd;
  return node;
}

/**
 * Parse the directives, if there are some.
 * @param {TokenReader} reader
 * @returns {DirectiveNode[]}
 */
export function parseDirectives(reader) {
  /** @type {DirectiveNode[]} */
  const found = [];
  while (reader.peek() === "@") {
    const { start } = reader.take();
    reader.offer("directive");
    /** @type {DirectiveNode} */
    const node = { kind: "Directive", name: reader.takeName(), arguments: [], start, end: reader.lastEnd };
    if (!node.name) reader.report(start, start + 1, 'Name a directive after "@".');
    reader.open.push(node);
    node.arguments = parseArguments(reader);
    reader.open.pop();
    node.end = reader.lastEnd;
    found.push(node);
  }
  return found;
}

/**
 * Parse a value. Return null if none follows.
 * @param {TokenReader} reader
 * @returns {ValueNode | null}
 */
export function parseValue(reader) {
  reader.offer("value");
  const token = reader.next;
  if (token && reader.open.length < MAX_VALUE_DEPTH) {
    const { kind, text, start, end } = token;
    if (text === "$" && kind === "Punctuator") return parseVariable(reader);
    if (text === "[" && kind === "Punctuator") return parseList(reader);
    if (text === "{" && kind === "Punctuator") return parseObject(reader);
    const scalar = scalarKind(kind, text);
    if (scalar) {
      reader.take();
      return { kind: scalar, value: text, isBlock: kind === "BlockString", start, end };
    }
  }
  reader.reportNext("Expected a value.");
  return null;
}

/**
 * @param {import("./lexer.js").TokenKind} kind
 * @param {string} text
 */
function scalarKind(kind, text) {
  if (kind === "Int") return "IntValue";
  if (kind === "Float") return "FloatValue";
  if (kind === "String" || kind === "BlockString") return "StringValue";
  if (kind !== "Name") return null;
  if (text === "true" || text === "false") return "BooleanValue";
  return text === "null" ? "NullValue" : "EnumValue";
}

/**
 * @param {TokenReader} reader
 * @returns {ValueNode}
 */
function parseVariable(reader) {
  const { start } = reader.take();
  reader.offer("variable");
  const name = reader.next?.start === start + 1 ? reader.takeName() : null;
  if (!name) reader.report(start, start + 1, 'Name a variable after "$".');
  return { kind: "Variable", name, start, end: reader.lastEnd };
}

/**
 * @param {TokenReader} reader
 * @returns {ValueNode}
 */
function parseList(reader) {
  const { start, end } = reader.take();
  /** @type {import("./ast.js").ListValueNode} */
  const node = { kind: "ListValue", values: [], start, end };
  reader.open.push(node);
  while (!reader.isAtEnd && ![")", "}", "]", ":"].includes(reader.peek())) {
    const value = parseValue(reader);
    if (value) node.values.push(value);
    else reader.take();
  }
  reader.offer("value");
  if (!reader.skip("]")) reader.report(start, start + 1, 'This "[" is not closed.');
  reader.open.pop();
  node.end = reader.lastEnd;
  return node;
}

/**
 * @param {TokenReader} reader
 * @returns {ValueNode}
 */
function parseObject(reader) {
  const { start, end } = reader.take();
  /** @type {import("./ast.js").ObjectValueNode} */
  const node = { kind: "ObjectValue", fields: [], start, end };
  reader.open.push(node);
  while (!reader.isAtEnd && ![")", "}", "]"].includes(reader.peek())) {
    reader.offer("objectField");
    const name = reader.takeName();
    if (name) {
      node.fields.push(parseObjectField(reader, name));
    } else {
      reader.reportNext('Expected the name of an input field or "}".');
      reader.take();
    }
  }
  reader.offer("objectField");
  if (!reader.skip("}")) reader.report(start, start + 1, 'This "{" is not closed.');
  reader.open.pop();
  node.end = reader.lastEnd;
  return node;
}

/**
 * @param {TokenReader} reader
 * @param {import("./ast.js").NameNode} name
 * @returns {ObjectFieldNode}
 */
function parseObjectField(reader, name) {
  /** @type {ObjectFieldNode} */
  const node = { kind: "ObjectField", name, value: null, start: name.start, end: name.end };
  reader.open.push(node);
  if (reader.skip(":")) node.value = parseValue(reader);
  else reader.report(name.start, name.end, `The field "${name.value}" needs ":" and a value.`);
  reader.open.pop();
  node.end = reader.lastEnd;
  return node;
}

/**
 * Parse the type of a variable. Return null if none follows.
 * @param {TokenReader} reader
 * @returns {TypeNode | null}
 */
export function parseType(reader) {
  const start = reader.next?.start ?? 0;
  let depth = 0;
  while (reader.skip("[")) {
    depth += 1;
    reader.offer("inputType");
  }
  const name = reader.takeName();
  if (!name) {
    reader.reportNext("Expected a type.");
    for (; depth && reader.skip("]"); depth -= 1) reader.skip("!");
    return null;
  }
  /** @type {TypeNode} */
  let type = nullable(reader, { kind: "NamedType", name, start: name.start, end: name.end });
  for (; depth; depth -= 1) {
    reader.expect("]", "The list");
    type = nullable(reader, { kind: "ListType", type, start: start + depth - 1, end: reader.lastEnd });
  }
  return type;
}

/**
 * @param {TokenReader} reader
 * @param {NamedTypeNode | ListTypeNode} type
 * @returns {TypeNode}
 */
function nullable(reader, type) {
  return reader.skip("!") ? { kind: "NonNullType", type, start: type.start, end: reader.lastEnd } : type;
}
