/**
 * The tokens of a GraphQL document, by the edition of September 2025. It never fails: a character that starts no token is
 * a token of kind "Error", and a string without an end reaches to the end of its line.
 */

/** @typedef {"Name" | "Int" | "Float" | "String" | "BlockString" | "Punctuator" | "Comment" | "Error"} TokenKind */

/**
 * @typedef {object} Token
 * @property {TokenKind} kind
 * @property {string} text
 * @property {number} start
 * @property {number} end
 * @property {string} [problem]  What is wrong with the token.
 */

const IGNORED = /[\uFEFF\t ,\n\r]+/y;
const COMMENT = /#[^\n\r]*/y;
const NAME = /[_A-Za-z][_0-9A-Za-z]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
/** Characters that may not follow a number: a digit, a dot or the start of a name. */
const NUMBER_TAIL = /[_0-9A-Za-z.]+/y;
const BLOCK_STRING = /"""(?:[^"\\]|\\"""|\\(?!""")|"(?!""))*?"""/y;
const STRING = /"(?:[^"\\\n\r]|\\[^\n\r])*"/y;
const OPEN_STRING = /"(?:[^"\\\n\r]|\\[^\n\r]?)*/y;
const PUNCTUATOR = /\.\.\.|[!$&()[\]{}:=@|]/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]+\}|(.?))/gu;

/**
 * Return the tokens of a document with its comments. Whitespace and commas are left out.
 * @param {string} source
 * @returns {Token[]}
 */
export function tokenize(source) {
  /** @type {Token[]} */
  const tokens = [];
  let at = 0;
  while (at < source.length) {
    const ignored = match(IGNORED, source, at);
    if (ignored) {
      at += ignored.length;
      continue;
    }
    const found = read(source, at);
    tokens.push(found);
    at = found.end;
  }
  return tokens;
}

/**
 * @param {string} source
 * @param {number} start
 * @returns {Token}
 */
function read(source, start) {
  const name = match(NAME, source, start);
  if (name) return token("Name", name, start);
  const punctuator = match(PUNCTUATOR, source, start);
  if (punctuator) return token("Punctuator", punctuator, start);
  const comment = match(COMMENT, source, start);
  if (comment) return token("Comment", comment, start);
  if (source[start] === '"') return readString(source, start);
  return readNumber(source, start) ?? unknown(source, start);
}

/**
 * @param {string} source
 * @param {number} start
 * @returns {Token}
 */
function readString(source, start) {
  if (source.startsWith('"""', start)) {
    const block = match(BLOCK_STRING, source, start);
    if (block) return token("BlockString", block, start);
    return token("BlockString", source.slice(start), start, 'The block string has no end: add """.');
  }
  const text = match(STRING, source, start);
  if (text) return token("String", text, start, escapeProblem(text));
  return token("String", match(OPEN_STRING, source, start) || '"', start, 'The string has no end: add ".');
}

/**
 * @param {string} source
 * @param {number} start
 * @returns {Token | null}
 */
function readNumber(source, start) {
  NUMBER.lastIndex = start;
  const found = NUMBER.exec(source);
  if (!found) return null;
  const [text, fraction, exponent] = found;
  const kind = fraction || exponent ? "Float" : "Int";
  const tail = match(NUMBER_TAIL, source, start + text.length);
  if (!tail) return token(kind, text, start);
  return token(kind, text + tail, start, `"${text}${tail}" is not a number.`);
}

/**
 * @param {string} source
 * @param {number} start
 * @returns {Token}
 */
function unknown(source, start) {
  const character = String.fromCodePoint(source.codePointAt(start) ?? 0);
  const hint = character === "'" ? " Strings have double quotes." : "";
  return token("Error", character, start, `The character "${character}" is not a part of GraphQL here.${hint}`);
}

/**
 * Return what is wrong with the escapes of a string.
 * @param {string} text
 * @returns {string | undefined}
 */
function escapeProblem(text) {
  for (const [whole, wrong] of text.matchAll(ESCAPE)) {
    if (wrong !== undefined) return `"${whole}" is not an escape of GraphQL.`;
    if (whole.startsWith("\\u{") && parseInt(whole.slice(3, -1), 16) > 0x10ffff) return `"${whole}" is not a character.`;
  }
  return undefined;
}

/**
 * @param {TokenKind} kind
 * @param {string} text
 * @param {number} start
 * @param {string} [problem]
 * @returns {Token}
 */
function token(kind, text, start, problem) {
  return { kind, text, start, end: start + text.length, ...(problem && { problem }) };
}

/**
 * @param {RegExp} pattern
 * @param {string} source
 * @param {number} at
 */
function match(pattern, source, at) {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0] ?? "";
}
