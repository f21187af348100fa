/** Syntax highlighting: splits the source of a template, or JSON, into tokens. It takes time in proportion to the source. */

/**
 * A piece of a source with its kind; "plain" has no colour of its own.
 * @typedef {{ kind: "plain" | "tag" | "attribute" | "string" | "comment" | "variable" | "statement" | "number", text: string }} Token
 */

/** Characters above which a source is one plain token, so that typing stays fast. */
export const MAX_HIGHLIGHTED = 60_000;

/**
 * Blocks of the template language. They end in the line in which they start, so that an open one spoils no other line.
 * @type {[start: string, end: string, kind: Token["kind"]][]}
 */
const BLOCKS = [
  ["{{", "}}", "variable"],
  ["{%", "%}", "statement"],
];
/** Characters in which a block has to end, as in the template language. */
const MAX_BLOCK = 1_000;
const [COMMENT_START, COMMENT_END] = ["<!--", "-->"];
const TAG_START = /<\/?[A-Za-z][\w:-]*|<!doctype\b/iy;
const TAG_END = /\/?>/y;
const ATTRIBUTE = /[^\s"'<>/={}]+/y;
const PLAIN = /[^<{]+/y;
const JSON_TOKEN = /"(?:[^"\\\n]|\\.)*"|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;

/**
 * Return the tokens of a template's HTML or text.
 * @param {string} source
 * @returns {Token[]}
 */
export function highlightTemplate(source) {
  if (source.length > MAX_HIGHLIGHTED) return [{ kind: "plain", text: source }];
  return new TemplateTokenizer(source).run();
}

/**
 * Return the tokens of JSON. Names of members are attributes.
 * @param {string} source
 * @returns {Token[]}
 */
export function highlightJson(source) {
  if (source.length > MAX_HIGHLIGHTED) return [{ kind: "plain", text: source }];
  /** @type {Token[]} */
  const tokens = [];
  let end = 0;
  for (const { 0: text, index } of source.matchAll(JSON_TOKEN)) {
    if (index > end) tokens.push({ kind: "plain", text: source.slice(end, index) });
    end = index + text.length;
    tokens.push({ kind: text[0] === '"' ? stringKind(source, end) : "number", text });
  }
  if (end < source.length) tokens.push({ kind: "plain", text: source.slice(end) });
  return tokens;
}

class TemplateTokenizer {
  /** @type {string} */
  #source;
  #at = 0;
  /** @type {Token[]} */
  #tokens = [];
  #inTag = false;
  /** The quote that ends the open attribute value, or empty outside of one. */
  #quote = "";
  /** Whether no end of a comment follows. */
  #isLastCommentTaken = false;

  /** @param {string} source */
  constructor(source) {
    this.#source = source;
  }

  /** @returns {Token[]} */
  run() {
    while (this.#at < this.#source.length) {
      if (!this.#takeBlock() && !this.#takeComment()) this.#takeMarkup();
    }
    return this.#tokens;
  }

  /** Take a block such as `{{ name }}`. Return whether there is one. */
  #takeBlock() {
    for (const [start, end, kind] of BLOCKS) {
      if (!this.#source.startsWith(start, this.#at)) continue;
      const inside = this.#at + start.length;
      const [line] = this.#source.slice(inside, inside + MAX_BLOCK).split("\n", 1);
      const length = line.indexOf(end);
      if (length < 0) continue;
      this.#push(kind, inside + length + end.length);
      return true;
    }
    return false;
  }

  /** Take an HTML comment. Return whether there is one. */
  #takeComment() {
    if (this.#inTag || this.#isLastCommentTaken || !this.#source.startsWith(COMMENT_START, this.#at)) return false;
    const end = this.#source.indexOf(COMMENT_END, this.#at + COMMENT_START.length);
    this.#isLastCommentTaken = end < 0;
    if (end >= 0) this.#push("comment", end + COMMENT_END.length);
    return end >= 0;
  }

  #takeMarkup() {
    if (this.#quote) this.#takeString();
    else if (this.#inTag) this.#takeInTag();
    else if (this.#match(TAG_START, "tag")) this.#inTag = true;
    else if (!this.#match(PLAIN, "plain")) this.#push("plain", this.#at + 1);
  }

  #takeInTag() {
    const character = this.#source[this.#at];
    if (character === '"' || character === "'") {
      this.#quote = character;
      this.#push("string", this.#at + 1);
    } else if (this.#match(TAG_END, "tag")) {
      this.#inTag = false;
    } else if (!this.#match(ATTRIBUTE, "attribute")) {
      this.#push("plain", this.#at + 1);
    }
  }

  /** Take a part of an attribute value: up to its quote, or up to a brace that may start a block. */
  #takeString() {
    let end = this.#at;
    while (end < this.#source.length && this.#source[end] !== this.#quote) {
      if (end > this.#at && this.#source[end] === "{") break;
      end += 1;
    }
    if (this.#source[end] === this.#quote) {
      this.#quote = "";
      end += 1;
    }
    this.#push("string", end);
  }

  /**
   * @param {RegExp} pattern  A sticky one.
   * @param {Token["kind"]} kind
   */
  #match(pattern, kind) {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#source)) return false;
    this.#push(kind, pattern.lastIndex);
    return true;
  }

  /**
   * Add the source up to an offset. Tokens of the same kind become one.
   * @param {Token["kind"]} kind
   * @param {number} end
   */
  #push(kind, end) {
    const text = this.#source.slice(this.#at, end);
    const last = this.#tokens[this.#tokens.length - 1];
    if (last?.kind === kind) last.text += text;
    else this.#tokens.push({ kind, text });
    this.#at = end;
  }
}

/**
 * @param {string} source
 * @param {number} end  The offset behind the string.
 */
function stringKind(source, end) {
  let next = end;
  while (source[next] === " ") next += 1;
  return source[next] === ":" ? "attribute" : "string";
}
