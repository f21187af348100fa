/** Reads the tokens of a document one by one, and notes where the caret is among them. */

import { tokenize } from "./lexer.js";

/** @import { CaretContext, OpenNode, Problem } from "./ast.js" */
/** @import { Token } from "./lexer.js" */

export const MAX_PROBLEMS = 50;

export class TokenReader {
  /** @type {Token[]} */
  tokens;
  /** @type {Token[]} */
  comments;
  /** @type {Problem[]} */
  problems = [];
  /** @type {CaretContext | null} */
  context = null;
  /**
   * The nodes that are being read, outermost first.
   * @type {OpenNode[]}
   */
  open = [];
  #at = 0;
  #length;
  /** The token at which the caret is, or -1. */
  #caretIndex = -1;
  #caretStart = 0;
  #prefix = "";

  /**
   * @param {string} source
   * @param {number} [caret]
   */
  constructor(source, caret) {
    const all = tokenize(source);
    this.tokens = all.filter(({ kind }) => kind !== "Comment");
    this.comments = all.filter(({ kind }) => kind === "Comment");
    this.#length = source.length;
    for (const { problem, start, end } of this.tokens) {
      if (problem) this.report(start, end, problem);
    }
    if (caret !== undefined && !isInText(all, caret)) this.#placeCaret(caret);
  }

  /** @param {number} caret */
  #placeCaret(caret) {
    const touched = this.tokens.findIndex(({ kind, start, end }) => kind === "Name" && start < caret && caret <= end);
    if (touched >= 0) {
      const { start, text } = this.tokens[touched];
      [this.#caretIndex, this.#caretStart, this.#prefix] = [touched, start, text.slice(0, caret - start)];
      return;
    }
    const next = this.tokens.findIndex(({ start }) => start >= caret);
    [this.#caretIndex, this.#caretStart] = [next < 0 ? this.tokens.length : next, caret];
  }

  /** The index of the next token. */
  get at() {
    return this.#at;
  }

  /** The next token, or null at the end. */
  get next() {
    return this.tokens[this.#at] ?? null;
  }

  get isAtEnd() {
    return this.#at >= this.tokens.length;
  }

  /** The offset behind the last token that was read. */
  get lastEnd() {
    return this.#at > 0 ? this.tokens[this.#at - 1].end : 0;
  }

  /** The text of the next token, or of one after it. Empty behind the end, and for strings. */
  peek(ahead = 0) {
    const token = this.tokens[this.#at + ahead];
    return token && token.kind !== "String" && token.kind !== "BlockString" ? token.text : "";
  }

  /** @param {number} [ahead] */
  isName(ahead = 0) {
    return this.tokens[this.#at + ahead]?.kind === "Name";
  }

  /** Read the next token. */
  take() {
    const token = this.tokens[this.#at];
    this.#at += 1;
    return token;
  }

  /**
   * Read the next token if it has this text. Return whether it has.
   * @param {string} text
   */
  skip(text) {
    if (this.peek() !== text) return false;
    this.#at += 1;
    return true;
  }

  /**
   * Read a token that must follow. Report a problem if it does not.
   * @param {string} text
   * @param {string} place
   */
  expect(text, place) {
    if (!this.skip(text)) this.reportNext(`${place} needs "${text}" here.`);
  }

  /** Read a name, or return null. */
  takeName() {
    if (!this.isName()) return null;
    const { text: value, start, end } = this.take();
    return { value, start, end };
  }

  /**
   * Note the kind of text that fits at the caret, if it is before the next token. The first note counts.
   * @param {CaretContext["kind"]} kind
   */
  offer(kind) {
    if (this.context || this.#at !== this.#caretIndex) return;
    this.context = { kind, path: [...this.open], start: this.#caretStart, prefix: this.#prefix };
  }

  /**
   * @param {number} start
   * @param {number} end
   * @param {string} message
   */
  report(start, end, message) {
    const isRepeated = this.problems.some((problem) => problem.start === start);
    if (!isRepeated && this.problems.length < MAX_PROBLEMS) this.problems.push({ start, end, message });
  }

  /**
   * Report a problem at the next token, or at the end of the document.
   * @param {string} message
   */
  reportNext(message) {
    const last = this.tokens[this.tokens.length - 1];
    if (this.next) this.report(this.next.start, this.next.end, message);
    else if (last) this.report(last.start, last.end, message);
    else this.report(0, this.#length, message);
  }
}

/**
 * Return whether the caret is inside of a string or comment, or behind a number.
 * @param {Token[]} tokens
 * @param {number} caret
 */
function isInText(tokens, caret) {
  return tokens.some(({ kind, start, end, problem }) => {
    if (kind === "Comment") return start < caret && caret <= end;
    if (kind === "Int" || kind === "Float") return start < caret && caret <= end;
    const isText = kind === "String" || kind === "BlockString";
    return isText && start < caret && (caret < end || Boolean(problem && caret === end));
  });
}
