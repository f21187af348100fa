/** Formats a document: two spaces of indentation, short arguments in one line, comments at their places. */

import { parse } from "./parser.js";

/** @import { ArgumentNode, DefinitionNode, DescriptionNode, DirectiveNode, OperationNode, SelectionNode, SelectionSetNode, TypeNode, ValueNode, VariableDefinitionNode } from "./ast.js" */
/** @import { Token } from "./lexer.js" */

const MAX_WIDTH = 90;
const INDENT = "  ";

/**
 * Return the formatted document, or null if its syntax is wrong.
 * @param {string} source
 * @returns {string | null}
 */
export function format(source) {
  const { definitions, problems, comments } = parse(source);
  if (problems.length) return null;
  return new Printer(source, comments).document(definitions);
}

class Printer {
  #source;
  #comments;
  #next = 0;
  /** @type {string[]} */
  #lines = [];

  /**
   * @param {string} source
   * @param {Token[]} comments
   */
  constructor(source, comments) {
    this.#source = source;
    this.#comments = comments;
  }

  /** @param {DefinitionNode[]} definitions */
  document(definitions) {
    definitions.forEach((definition, index) => {
      if (index) this.#lines.push("");
      this.#flush(definition.start, "");
      this.#definition(definition);
    });
    this.#flush(Infinity, "");
    return this.#lines.length ? `${this.#lines.join("\n")}\n` : "";
  }

  /**
   * Write the comments before an offset. One that follows other text in its line stays there.
   * @param {number} offset
   * @param {string} indent
   */
  #flush(offset, indent) {
    for (; this.#comments[this.#next]?.start < offset; this.#next += 1) {
      const { start, text } = this.#comments[this.#next];
      const lineStart = this.#source.lastIndexOf("\n", start - 1) + 1;
      const follows = this.#source.slice(lineStart, start).trim() && this.#lines.length;
      if (follows) this.#lines[this.#lines.length - 1] += ` ${text.trimEnd()}`;
      else this.#lines.push(indent + text.trimEnd());
    }
  }

  /** @param {number} start @param {number} end */
  #hasComments(start, end) {
    return this.#comments.some((one) => one.start > start && one.start < end);
  }

  /** @param {DefinitionNode} node */
  #definition(node) {
    this.#description(node.description, "");
    const head = node.kind === "OperationDefinition" ? node.operation : "fragment";
    const name = node.name ? ` ${node.name.value}` : "";
    const on = node.kind === "FragmentDefinition" ? ` on ${node.typeCondition?.name.value ?? ""}` : "";
    const isShort = node.kind === "OperationDefinition" && node.isShort;
    this.#lines.push(isShort ? "" : `${head}${name}${on}`);
    if (node.kind === "OperationDefinition") this.#variables(node);
    this.#append(directives(node.directives));
    if (node.selectionSet) this.#selectionSet(node.selectionSet, "");
  }

  /**
   * @param {DescriptionNode | null} description
   * @param {string} indent
   */
  #description(description, indent) {
    if (!description) return;
    const lines = description.value.split("\n");
    const margin = Math.min(...lines.slice(1).filter((line) => line.trim()).map((line) => line.search(/\S/)), 1_000);
    this.#lines.push(...lines.map((line, index) => (index ? (line.trim() ? indent + line.slice(margin) : "") : indent + line)));
  }

  /** @param {OperationNode} node */
  #variables({ variableDefinitions: list, selectionSet, start }) {
    if (!list.length) return;
    const texts = list.map(variableText);
    const line = `(${texts.join(", ")})`;
    const isSplit = list.some(({ description }) => description) || this.#hasComments(start, list[list.length - 1].end)
      || this.#lastLength + line.length > MAX_WIDTH;
    if (!isSplit) {
      this.#append(line);
      return;
    }
    // Without a name, the parenthesis stays apart from the keyword, as in one line.
    this.#append("(");
    list.forEach((variable, index) => {
      this.#flush(variable.start, INDENT);
      this.#description(variable.description, INDENT);
      this.#lines.push(INDENT + texts[index]);
    });
    this.#flush(selectionSet?.start ?? 0, INDENT);
    this.#lines.push(")");
  }

  /**
   * @param {SelectionSetNode} set
   * @param {string} indent
   */
  #selectionSet(set, indent) {
    const last = this.#lines[this.#lines.length - 1];
    this.#append(last && last.trim() ? " {" : "{");
    let end = set.start;
    for (const selection of set.selections) {
      const gap = this.#source.slice(end, selection.start);
      // One empty line between selections stays.
      const isApart = end > set.start && /\n[ \t]*\r?\n/.test(gap);
      if (isApart) this.#lines.push("");
      this.#flush(selection.start, indent + INDENT);
      this.#selection(selection, indent + INDENT);
      ({ end } = selection);
    }
    this.#flush(set.end, indent + INDENT);
    this.#lines.push(`${indent}}`);
  }

  /**
   * @param {SelectionNode} node
   * @param {string} indent
   */
  #selection(node, indent) {
    if (node.kind === "Field") {
      this.#lines.push(`${indent}${node.alias ? `${node.alias.value}: ` : ""}${node.name.value}`);
      this.#arguments(node.arguments, indent);
    } else if (node.kind === "FragmentSpread") {
      this.#lines.push(`${indent}...${node.name?.value ?? ""}`);
    } else {
      this.#lines.push(`${indent}...${node.typeCondition ? ` on ${node.typeCondition.name.value}` : ""}`);
    }
    this.#append(directives(node.directives));
    if (node.kind !== "FragmentSpread" && node.selectionSet) this.#selectionSet(node.selectionSet, indent);
  }

  /**
   * @param {ArgumentNode[]} list
   * @param {string} indent
   */
  #arguments(list, indent) {
    if (!list.length) return;
    const texts = list.map(({ name, value }) => `${name.value}: ${value ? valueText(value, indent + INDENT) : ""}`);
    const line = `(${texts.join(", ")})`;
    const isLong = this.#lastLength + line.length > MAX_WIDTH || line.includes("\n");
    if (!isLong && !this.#hasComments(list[0].start, list[list.length - 1].end)) {
      this.#append(line);
      return;
    }
    this.#append("(");
    list.forEach((argument, index) => {
      this.#flush(argument.start, indent + INDENT);
      this.#lines.push(`${indent}${INDENT}${texts[index]}`);
    });
    this.#lines.push(`${indent})`);
  }

  get #lastLength() {
    return this.#lines[this.#lines.length - 1].length;
  }

  /** @param {string} text */
  #append(text) {
    this.#lines[this.#lines.length - 1] += text;
  }
}

/** @param {VariableDefinitionNode} node */
function variableText({ variable, type, defaultValue, directives: list }) {
  const value = defaultValue ? ` = ${valueText(defaultValue, INDENT)}` : "";
  return `$${variable.name?.value ?? ""}: ${type ? typeText(type) : ""}${value}${directives(list)}`;
}

/**
 * @param {TypeNode} type
 * @returns {string}
 */
function typeText(type) {
  if (type.kind === "NamedType") return type.name.value;
  if (type.kind === "NonNullType") return `${typeText(type.type)}!`;
  return `[${type.type ? typeText(type.type) : ""}]`;
}

/** @param {DirectiveNode[]} list */
function directives(list) {
  return list.map(({ name, arguments: given }) => {
    const texts = given.map((argument) => `${argument.name.value}: ${argument.value ? valueText(argument.value, "") : ""}`);
    return ` @${name?.value ?? ""}${texts.length ? `(${texts.join(", ")})` : ""}`;
  }).join("");
}

/**
 * @param {ValueNode} value
 * @param {string} indent
 * @returns {string}
 */
function valueText(value, indent) {
  if (value.kind === "Variable") return `$${value.name?.value ?? ""}`;
  if (value.kind === "ListValue") {
    const texts = value.values.map((one) => valueText(one, indent + INDENT));
    return wrap("[", texts, "]", indent);
  }
  if (value.kind !== "ObjectValue") return value.value;
  const texts = value.fields.map(({ name, value: one }) => `${name.value}: ${one ? valueText(one, indent + INDENT) : ""}`);
  return wrap("{", texts, "}", indent);
}

/**
 * @param {string} opening
 * @param {string[]} texts
 * @param {string} closing
 * @param {string} indent
 */
function wrap(opening, texts, closing, indent) {
  const line = `${opening}${texts.join(", ")}${closing}`;
  if (line.length + indent.length <= MAX_WIDTH - 10 && !line.includes("\n")) return line;
  const inner = texts.map((text) => `\n${indent}${INDENT}${text}`).join("");
  return `${opening}${inner}\n${indent}${closing}`;
}
