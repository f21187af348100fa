/** Syntax highlighting of documents, headers and JSON: splits a text into lines of coloured pieces. */

import { tokenize } from "../language/lexer.js";

/** @typedef {{ kind: string, text: string }} Piece  A piece of a line. The kind is empty where it has no colour. */

/** Characters above which a text has no colours, so that typing stays fast. */
export const MAX_HIGHLIGHTED = 100_000;
const KEYWORDS = new Set(["query", "mutation", "subscription", "fragment", "on"]);
const CONSTANTS = new Set(["true", "false", "null"]);
const JSON_TOKEN = /"(?:[^"\\\n]|\\.)*"?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\b(?:true|false|null)\b/g;

/**
 * Return the pieces of a document by lines.
 * @param {string} source
 * @returns {Piece[][]}
 */
export function highlightGraphQL(source) {
  if (source.length > MAX_HIGHLIGHTED) return plainLines(source);
  const writer = new LineWriter(source);
  const tokens = tokenize(source);
  let depth = 0;
  tokens.forEach((token, index) => {
    if (token.text === "{" || token.text === "(") depth += 1;
    if (token.text === "}" || token.text === ")") depth -= 1;
    writer.add(token.start, token.end, kindOf(token, tokens[index - 1], tokens[index + 1], depth));
  });
  return writer.finish();
}

/**
 * @param {import("../language/lexer.js").Token} token
 * @param {import("../language/lexer.js").Token | undefined} previous
 * @param {import("../language/lexer.js").Token | undefined} next
 * @param {number} depth
 */
function kindOf({ kind, text }, previous, next, depth) {
  if (kind === "Comment") return "comment";
  if (kind === "String" || kind === "BlockString") return "string";
  if (kind === "Int" || kind === "Float") return "number";
  if (kind === "Error") return "wrong";
  if (kind === "Punctuator") return text === "$" ? "variable" : text === "@" ? "directive" : "punctuation";
  if (previous?.text === "$") return "variable";
  if (previous?.text === "@") return "directive";
  if (previous?.text === "on" || previous?.text === "...") return text === "on" ? "keyword" : "type";
  if (depth === 0 && KEYWORDS.has(text)) return "keyword";
  if (depth === 0) return "definition";
  if (CONSTANTS.has(text)) return "constant";
  if (next?.text === ":") return "attribute";
  if (previous?.text === ":" || previous?.text === "[") return /^[A-Z]/.test(text) ? "type" : "field";
  return "field";
}

/**
 * Return the pieces of JSON by lines. Names of members are attributes.
 * @param {string} source
 * @returns {Piece[][]}
 */
export function highlightJson(source) {
  if (source.length > MAX_HIGHLIGHTED) return plainLines(source);
  const writer = new LineWriter(source);
  for (const { 0: text, index } of source.matchAll(JSON_TOKEN)) {
    const end = index + text.length;
    const isName = text.startsWith('"') && /^\s*:/.test(source.slice(end, end + 20));
    writer.add(index, end, isName ? "attribute" : text.startsWith('"') ? "string" : CONSTANTS.has(text) ? "constant" : "number");
  }
  return writer.finish();
}

/**
 * Return the pieces of headers by lines.
 * @param {string} source
 * @returns {Piece[][]}
 */
export function highlightHeaders(source) {
  return source.split("\n").map((line) => {
    if (line.trimStart().startsWith("#")) return [{ kind: "comment", text: line }];
    const colon = line.indexOf(":");
    if (colon < 0) return line ? [{ kind: "attribute", text: line }] : [];
    return [
      { kind: "attribute", text: line.slice(0, colon) },
      { kind: "punctuation", text: ":" },
      { kind: "string", text: line.slice(colon + 1) },
    ];
  });
}

/**
 * @param {string} source
 * @returns {Piece[][]}
 */
export function plainLines(source) {
  return source.split("\n").map((text) => (text ? [{ kind: "", text }] : []));
}

/** Collects pieces in order. Text between them has no colour. */
class LineWriter {
  /** @type {Piece[][]} */
  #lines = [[]];
  #source;
  #end = 0;

  /** @param {string} source */
  constructor(source) {
    this.#source = source;
  }

  /**
   * @param {number} start
   * @param {number} end
   * @param {string} kind
   */
  add(start, end, kind) {
    this.#write(this.#end, start, "");
    this.#write(start, end, kind);
    this.#end = end;
  }

  finish() {
    this.#write(this.#end, this.#source.length, "");
    return this.#lines;
  }

  /**
   * @param {number} start
   * @param {number} end
   * @param {string} kind
   */
  #write(start, end, kind) {
    if (start >= end) return;
    this.#source.slice(start, end).split("\n").forEach((text, index) => {
      if (index) this.#lines.push([]);
      if (text) this.#lines[this.#lines.length - 1].push({ kind, text });
    });
  }
}
