/** Finds secrets in documents, variables and headers, so that the browser stores none. A value is secret by its name. */

import { tokenize } from "./language/lexer.js";

/** Names of arguments, input fields and variables whose values are secret: passwords, tokens, codes of second factors. */
const SECRET_NAME =
  /(?:pass(?:word|phrase)|secret|credential|token|api[-_]?key|code_?verifier|(?:recovery|claim|reset|verification|confirmation)_?code)s?$|^(?:code|pin|otp)s?$/i;
const SECRET_HEADER = /^\s*(?:(?:proxy-)?authorization|cookie|password|[^:]*(?:token|secret|api-?key)[^:]*)\s*:/i;
const SECRET_MEMBER = /("(?:[^"\\]|\\.)*")(\s*:\s*)("(?:[^"\\\n]|\\.)*"?|\[[^\]]*\]?|[^\s,{}[\]"]+)/g;

/** @param {string} name */
export function isSecretName(name) {
  return SECRET_NAME.test(name);
}

/**
 * Return lines of headers without the values of secret ones.
 * @param {string} headers
 */
export function redactHeaders(headers) {
  return headers.split("\n").map((line) => {
    return SECRET_HEADER.test(line) ? line.slice(0, line.indexOf(":") + 1) : line;
  }).join("\n");
}

/**
 * Return JSON without the values of members that are secret by their names. It may be incomplete.
 * @param {string} text
 */
export function redactVariables(text) {
  return text.replace(SECRET_MEMBER, (whole, name, separator, value) => {
    const isKept = !isSecretName(name.slice(1, -1)) || /^(?:null|true|false)$/.test(value);
    return isKept ? whole : `${name}${separator}""`;
  });
}

/**
 * Return a document without the literal values of arguments and fields that are secret by their names.
 * @param {string} text
 */
export function redactDocument(text) {
  const tokens = tokenize(text).filter(({ kind }) => kind !== "Comment");
  let redacted = "";
  let end = 0;
  tokens.forEach((token, index) => {
    const name = tokens[index - 2];
    const isValue = token.kind === "String" || token.kind === "BlockString" || token.kind === "Int" || token.kind === "Float";
    if (!isValue || tokens[index - 1]?.text !== ":" || name?.kind !== "Name" || !isSecretName(name.text)) return;
    redacted += `${text.slice(end, token.start)}""`;
    ({ end } = token);
  });
  return redacted + text.slice(end);
}

/**
 * Return whether texts hold a value that is not stored.
 * @param {{ text: string, variables: string, headers: string }} texts
 */
export function holdsSecrets({ text, variables, headers }) {
  return redactDocument(text) !== text || redactVariables(variables) !== variables || redactHeaders(headers) !== headers;
}
