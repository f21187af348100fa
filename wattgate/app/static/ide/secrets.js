/**
 * Leaves secrets out of documents, variables and headers, so that the browser stores none. A value is secret by its name, or
 * by the secret argument that a variable is for. The rules work on tokens: most stored documents are in the middle of typing.
 */

import { isSecretName, redactJson } from "../shared/secrets.js";
import { tokenize } from "./language/lexer.js";

/** @import { Token } from "./language/lexer.js" */

/** @typedef {{ text: string, variables: string, headers: string }} Texts */

const SECRET_HEADER = /authorization|cookie|password|token|secret|credential|api-?key/i;
/** A line of headers, possibly commented out, or with a blank in place of its colon. */
const HEADER = /^(\s*(?:#\s*)*)([^\s:]+)(\s*:|\s+(?=\S))/;
const SCHEME = /^(?:basic|bearer)$/i;
/** A name and the sign before its value, in the text of a comment. */
const NAMED = /(?<![\w-])([\w-]+)["']?\s*[:=]/g;
const SCALARS = new Set(["Name", "Int", "Float", "String", "BlockString", "Error"]);
const KEPT = new Set(["null", "true", "false", '""', '""""""']);
/** A character that may follow a value. Another one means that the value was not written as GraphQL. */
const AFTER_VALUE = /^(?:$|[\s,)}\]#@$])/;

/**
 * Return texts of a document without their secrets.
 * @param {Texts} texts
 * @returns {Texts}
 */
export function redact({ text, variables, headers }) {
  const scan = new SecretScan(text);
  return { text: scan.redacted(), variables: redactJson(variables, { names: scan.variables }), headers: redactHeaders(headers) };
}

/**
 * Return whether texts hold a value that is not stored.
 * @param {Texts} texts
 */
export function holdsSecrets(texts) {
  const { text, variables, headers } = redact(texts);
  return text !== texts.text || variables !== texts.variables || headers !== texts.headers;
}

/** @param {string} headers */
function redactHeaders(headers) {
  return headers.split("\n").map((line) => {
    const [start, , name = "", separator = ""] = HEADER.exec(line) ?? [];
    if (start === undefined || !(SECRET_HEADER.test(name) || SCHEME.test(name) || isSecretName(name))) return line;
    return separator.includes(":") ? start : start.trimEnd();
  }).join("\n");
}

/** The places of secrets in a document. */
class SecretScan {
  /** Variables whose values are secret, because a secret argument takes them. @type {Set<string>} */
  variables = new Set();
  #text;
  /** @type {Token[]} */
  #tokens;
  #comments;
  /** Ranges to leave out, each with its replacement. @type {{ start: number, end: number, text: string }[]} */
  #edits = [];

  /** @param {string} text */
  constructor(text) {
    this.#text = text;
    const all = tokenize(text);
    this.#tokens = all.filter(({ kind }) => kind !== "Comment");
    this.#comments = all.filter(({ kind }) => kind === "Comment");
    this.#scanArguments();
    this.#scanDefinitions();
    this.#scanComments();
  }

  redacted() {
    let redacted = "";
    let end = 0;
    for (const edit of this.#edits.sort((one, other) => one.start - other.start)) {
      if (edit.start < end) continue;
      redacted += this.#text.slice(end, edit.start) + edit.text;
      ({ end } = edit);
    }
    return redacted + this.#text.slice(end);
  }

  /** Values of arguments and input fields: `name: value`. */
  #scanArguments() {
    let parentheses = 0;
    this.#tokens.forEach(({ kind, text }, index) => {
      if (text === "(") parentheses += 1;
      if (text === ")") parentheses = Math.max(0, parentheses - 1);
      const value = this.#tokens[index + 2];
      const isNamed = kind === "Name" && isSecretName(text) && this.#tokens[index + 1]?.text === ":";
      if (!isNamed || !value || this.#tokens[index - 1]?.text === "$") return;
      // In a selection, the name is an alias, and a field follows.
      if (parentheses || value.kind !== "Name") this.#hide(index + 2);
    });
  }

  /** Default values of variables: `$name: Type = value`. */
  #scanDefinitions() {
    this.#tokens.forEach(({ text }, index) => {
      const name = this.#tokens[index + 1]?.text ?? "";
      if (text !== "$" || this.#tokens[index + 2]?.text !== ":") return;
      if (!isSecretName(name) && !this.variables.has(name)) return;
      let at = index + 3;
      while (this.#tokens[at]?.kind === "Name" || /^[[\]!]$/.test(this.#tokens[at]?.text ?? "")) at += 1;
      if (this.#tokens[at]?.text === "=") this.#hide(at + 1);
    });
  }

  #scanComments() {
    for (const { text, start, end } of this.#comments) {
      const found = [...text.matchAll(NAMED)].find(([, name]) => isSecretName(name) || SECRET_HEADER.test(name));
      if (found) this.#edits.push({ start: start + found.index + found[0].length, end, text: "" });
    }
  }

  /**
   * Leave out a value: a scalar, or all scalars in a list or object.
   * @param {number} index
   */
  #hide(index) {
    let depth = 0;
    for (let at = index; at < this.#tokens.length; at += 1) {
      const token = this.#tokens[at];
      const isName = token.kind === "Name" && this.#tokens[at + 1]?.text === ":";
      if (token.text === "$") {
        this.variables.add(this.#tokens[at + 1]?.text ?? "");
        at += 1;
      } else if (SCALARS.has(token.kind) && !isName && !KEPT.has(token.text)) this.#hideScalar(token);
      if (token.text === "[" || token.text === "{") depth += 1;
      if (token.text === "]" || token.text === "}") depth -= 1;
      if (depth <= 0) return;
    }
  }

  /** @param {Token} token */
  #hideScalar({ start, end }) {
    const rest = this.#text.slice(end);
    const isWhole = AFTER_VALUE.test(rest.slice(0, 1));
    this.#edits.push({ start, end: isWhole ? end : end + rest.search(/$/m), text: '""' });
  }
}
