/** Text and values as source code of JavaScript. The result has the same value for every input. */

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Characters of a value that is written on one line. */
const MAX_LINE_LENGTH = 70;
const INDENT = "  ";

/**
 * Return a text as a template literal of JavaScript without substitutions.
 * @param {string} text
 * @returns {string}
 */
export function templateLiteral(text) {
  // A template literal turns a carriage return into a line feed, so it is escaped.
  return `\`${text.replace(/[\\`]|\$(?={)/g, "\\$&").replaceAll("\r", "\\r")}\``;
}

/**
 * Return a value of JSON as an expression of JavaScript.
 * @param {unknown} value
 * @param {string} [indent]  Of the line on which the expression begins.
 * @returns {string}
 */
export function javaScriptValue(value, indent = "") {
  const line = onOneLine(value);
  if (line.length + indent.length <= MAX_LINE_LENGTH || value === null || typeof value !== "object") return line;
  const inner = indent + INDENT;
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const items = Array.isArray(value)
    ? value.map((item) => javaScriptValue(item, inner))
    : Object.entries(value).map(([name, item]) => `${memberName(name)}: ${javaScriptValue(item, inner)}`);
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join("")}${indent}${close}`;
}

/**
 * @param {unknown} value
 * @returns {string}
 */
function onOneLine(value) {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(", ")}]`;
  const members = Object.entries(value).map(([name, item]) => `${memberName(name)}: ${onOneLine(item)}`);
  return members.length ? `{ ${members.join(", ")} }` : "{}";
}

/** @param {string} name */
function memberName(name) {
  // Without brackets, a literal with this member would set the prototype of the object.
  if (name === "__proto__") return '["__proto__"]';
  return IDENTIFIER.test(name) ? name : JSON.stringify(name);
}
