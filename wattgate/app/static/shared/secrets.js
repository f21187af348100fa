/** Which names belong to secrets, and JSON without the values of secrets. */

import { tokenizeJson } from "./json-tokens.js";

/** @import { JsonToken } from "./json-tokens.js" */

/** Names of arguments, members and variables of passwords, tokens, keys and codes, in both styles of writing. */
const SECRET_NAME =
  /(?:pass(?:word|phrase)|secret|credential|token|jwt|(?:api|access|private|signing)[-_]?key|code[-_]?verifier|(?:recovery|claim|reset|verification|confirmation|device)[-_]?code)s?$|^(?:code|pin|otp)s?$/i;
const SIGN = /^[{}[\]:,]$/;
const OPENING = /^[{[]$/;
const CLOSING = /^[}\]]$/;
/** A value that surely ends where its token does. */
const WHOLE_VALUE = /^(?:[}\]]|"(?:[^"\\]|\\.)*"|[\w.+-]+)$/;
/** Values that are no secrets. */
const KEPT = new Set(["null", "true", "false", '""']);

/**
 * Return whether a value of this name is a secret.
 * @param {string} name
 * @returns {boolean}
 */
export function isSecretName(name) {
  return SECRET_NAME.test(name);
}

/**
 * Return JSON with a placeholder for each secret: the value of a member with a secret name, with all that is in it. The text
 * may be incomplete. Behind a secret that is not written as JSON, the rest of the text is left out.
 * @param {string} text
 * @param {{ placeholder?: string, names?: Iterable<string> }} [options]  `names` has further secret members of the
 *   outermost object.
 * @returns {string}
 */
export function redactJson(text, { placeholder = "", names = [] } = {}) {
  const tokens = tokenizeJson(text);
  const outermost = new Set(names);
  let redacted = "";
  let [end, depth] = [0, 0];
  for (const [index, token] of tokens.entries()) {
    if (token.text === "{") depth += 1;
    if (token.text === "}") depth -= 1;
    const at = token.start < end ? -1 : valueIndex(tokens, index);
    if (at < 0) continue;
    const name = nameOf(token.text);
    if (!isSecretName(name) && !(depth === 1 && outermost.has(name))) continue;
    redacted += text.slice(end, tokens[at].start) + JSON.stringify(placeholder);
    end = valueEnd(text, tokens, at);
  }
  return redacted + text.slice(end);
}

/**
 * Return the index of the value if a token is the name of a member that may have a secret, else -1. The colon may be missing.
 * @param {JsonToken[]} tokens
 * @param {number} index
 */
function valueIndex(tokens, index) {
  if (SIGN.test(tokens[index].text)) return -1;
  const [before, after] = [tokens[index - 1]?.text ?? ",", tokens[index + 1]?.text ?? ","];
  const at = after === ":" ? index + 2 : /^[{,]$/.test(before) ? index + 1 : -1;
  const value = tokens[at]?.text ?? ",";
  return KEPT.has(value) || (SIGN.test(value) && !OPENING.test(value)) ? -1 : at;
}

/**
 * Return where a value ends. If that is not clear, it is the end of the text.
 * @param {string} text
 * @param {JsonToken[]} tokens
 * @param {number} index
 */
function valueEnd(text, tokens, index) {
  let [at, depth] = [index, 0];
  for (; at < tokens.length; at += 1) {
    if (OPENING.test(tokens[at].text)) depth += 1;
    if (CLOSING.test(tokens[at].text)) depth -= 1;
    if (depth <= 0) break;
  }
  const [last, next] = [tokens[at], tokens[at + 1]?.text ?? ","];
  return last && WHOLE_VALUE.test(last.text) && /^[,}\]]$/.test(next) ? last.end : text.length;
}

/** @param {string} token */
function nameOf(token) {
  try {
    return String(JSON.parse(token));
  } catch {
    return token.replace(/^['"]|['"]$/g, "");
  }
}
