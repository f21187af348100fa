/** A JSON parser that keeps positions, reports problems in sentences, and finds the place of the caret. */

import { tokenizeJson } from "../../shared/json-tokens.js";

/** @import { JsonToken } from "../../shared/json-tokens.js" */
/** @import { Problem } from "./ast.js" */

/** @typedef {{ key: JsonScalar, value: JsonNode | null }} JsonMember */
/** @typedef {{ kind: "object", members: JsonMember[], start: number, end: number }} JsonObject */
/** @typedef {{ kind: "array", items: JsonNode[], start: number, end: number }} JsonArray */
/** @typedef {{ kind: "scalar", value: string | number | boolean | null, start: number, end: number }} JsonScalar */
/** @typedef {JsonObject | JsonArray | JsonScalar} JsonNode */

/**
 * Where the caret is: in the name of a member, or in a value. `path` has member names, and 0 for items of lists.
 * @typedef {{ kind: "key" | "value", path: (string | 0)[], start: number, prefix: string, isQuoted: boolean, keys: string[] }} JsonContext
 */

/** @typedef {{ value: unknown, node: JsonNode | null, problems: Problem[], context: JsonContext | null }} ParsedJson */

const MAX_DEPTH = 200;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Parse JSON. `value` is undefined if there is a problem; an empty text is an empty object.
 * @param {string} text
 * @param {number} [caret]
 * @returns {ParsedJson}
 */
export function parseJson(text, caret = -1) {
  const parser = new JsonParser(text, caret);
  const node = parser.parse();
  const { problems, context } = parser;
  if (!text.trim()) return { value: {}, node, problems: [], context };
  if (problems.length) return { value: undefined, node, problems, context };
  try {
    return { value: JSON.parse(text), node, problems, context };
  } catch {
    return { value: undefined, node, problems: [{ start: 0, end: text.length, message: "This is not JSON." }], context };
  }
}

class JsonParser {
  /** @type {JsonToken[]} */
  #tokens;
  #at = 0;
  #depth = 0;
  #caret;
  #length;
  /** @type {Problem[]} */
  problems = [];
  /** @type {JsonContext | null} */
  context = null;
  /** @type {(string | 0)[]} */
  #path = [];

  /**
   * @param {string} text
   * @param {number} caret
   */
  constructor(text, caret) {
    this.#tokens = tokenizeJson(text);
    this.#caret = caret;
    this.#length = text.length;
  }

  parse() {
    const node = this.#value();
    if (node && this.#next) this.#report("There is more after the end of the value.");
    return node;
  }

  get #next() {
    return this.#tokens[this.#at];
  }

  /** @returns {JsonNode | null} */
  #value() {
    this.#offer("value", []);
    const token = this.#next;
    if (!token || /^[}\]:,]$/.test(token.text)) {
      this.#report("Expected a value.");
      return null;
    }
    this.#at += 1;
    if (this.#depth >= MAX_DEPTH) return this.#scalar(token);
    this.#depth += 1;
    const node = token.text === "{" ? this.#object(token.start) : token.text === "[" ? this.#array(token.start) : this.#scalar(token);
    this.#depth -= 1;
    return node;
  }

  /**
   * @param {number} start
   * @returns {JsonObject}
   */
  #object(start) {
    /** @type {JsonObject} */
    const node = { kind: "object", members: [], start, end: start + 1 };
    /** @type {string[]} */
    const keys = [];
    while (this.#next && !/^[}\]]$/.test(this.#next.text)) {
      this.#offer("key", keys);
      const token = this.#next;
      this.#at += 1;
      if (!token.text.startsWith('"')) {
        this.#reportAt(token, `Expected the name of a member in double quotes.`);
        continue;
      }
      const key = this.#scalar(token);
      if (keys.includes(String(key.value))) this.#reportAt(token, `The member ${token.text} is there twice.`);
      keys.push(String(key.value));
      node.members.push({ key, value: this.#member(key) });
      this.#separator("}");
    }
    this.#offer("key", keys);
    node.end = this.#close("}", start);
    return node;
  }

  /** @param {JsonScalar} key */
  #member(key) {
    if (this.#next?.text !== ":") {
      this.#reportAt(key, 'Write ":" and a value after the name.');
      return null;
    }
    this.#at += 1;
    this.#path.push(String(key.value));
    const value = this.#value();
    this.#path.pop();
    return value;
  }

  /**
   * @param {number} start
   * @returns {JsonArray}
   */
  #array(start) {
    /** @type {JsonArray} */
    const node = { kind: "array", items: [], start, end: start + 1 };
    this.#path.push(0);
    while (this.#next && !/^[}\]]$/.test(this.#next.text)) {
      const before = this.#at;
      const item = this.#value();
      if (item) node.items.push(item);
      if (this.#at === before) this.#at += 1;
      this.#separator("]");
    }
    this.#offer("value", []);
    this.#path.pop();
    node.end = this.#close("]", start);
    return node;
  }

  /** @param {string} closing */
  #separator(closing) {
    const token = this.#next;
    if (token?.text === ",") {
      this.#at += 1;
      if (this.#next?.text === closing) this.#reportAt(token, "JSON has no comma before the end of an object or list.");
    } else if (token && !/^[}\]]$/.test(token.text)) {
      this.#report('Expected ",".');
    }
  }

  /**
   * @param {string} closing
   * @param {number} start
   */
  #close(closing, start) {
    if (this.#next?.text === closing) {
      this.#at += 1;
      return this.#tokens[this.#at - 1].end;
    }
    this.#reportAt({ start, end: start + 1 }, `This "${closing === "}" ? "{" : "["}" is not closed.`);
    return this.#length;
  }

  /**
   * @param {JsonToken} token
   * @returns {JsonScalar}
   */
  #scalar(token) {
    const { text, start, end } = token;
    if (text.startsWith('"')) return { kind: "scalar", value: this.#string(token), start, end };
    if (text === "true" || text === "false") return { kind: "scalar", value: text === "true", start, end };
    if (NUMBER.test(text)) return { kind: "scalar", value: Number(text), start, end };
    if (text !== "null") this.#reportAt(token, `"${text.slice(0, 40)}" is not a value of JSON. Write texts in double quotes.`);
    return { kind: "scalar", value: null, start, end };
  }

  /** @param {JsonToken} token */
  #string(token) {
    try {
      return String(JSON.parse(token.text));
    } catch {
      const isOpen = token.text.length < 2 || !token.text.endsWith('"');
      this.#reportAt(token, isOpen ? 'The text has no end: add ".' : "The text has an escape that JSON does not have.");
      return token.text.replaceAll('"', "");
    }
  }

  /**
   * Note where the caret is, if it is in the next token or before it.
   * @param {JsonContext["kind"]} kind
   * @param {string[]} keys
   */
  #offer(kind, keys) {
    if (this.context || this.#caret < 0) return;
    const previous = this.#tokens[this.#at - 1];
    const token = this.#next;
    if (previous && previous.end > this.#caret) return;
    const isTouched = token && !/^[{}[\]:,]$/.test(token.text) && token.start < this.#caret && this.#caret <= token.end;
    if (!isTouched && token && token.start < this.#caret) return;
    const start = isTouched ? token.start : this.#caret;
    const prefix = isTouched ? token.text.slice(0, this.#caret - token.start) : "";
    const isQuoted = prefix.startsWith('"');
    if (isQuoted && prefix.length > 1 && prefix.endsWith('"')) return;
    this.context = { kind, path: [...this.#path], start, prefix: isQuoted ? prefix.slice(1) : prefix, isQuoted, keys: [...keys] };
  }

  /** @param {string} message */
  #report(message) {
    const last = this.#tokens[this.#tokens.length - 1];
    this.#reportAt(this.#next ?? last ?? { start: 0, end: this.#length }, message);
  }

  /**
   * @param {{ start: number, end: number }} place
   * @param {string} message
   */
  #reportAt({ start, end }, message) {
    if (!this.problems.some((problem) => problem.start === start)) this.problems.push({ start, end, message });
  }
}
