/** Keys and colours in the editors of the IDE. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { highlightGraphQL, highlightHeaders, highlightJson, plainLines } from "../../wattgate/app/static/ide/editor/highlight.js";
import { offsetOf, positionOf } from "../../wattgate/app/static/ide/editor/positions.js";
import { breakLine, matchBrackets, removePair, shiftLines, toggleComment, typeCharacter } from "../../wattgate/app/static/ide/editor/typing.js";

/** Apply an edit to a text with marks `|` for the caret, or `<` and `>` for the selection, and return it with marks. */
function edited(marked, change) {
  const caret = marked.indexOf("|");
  const start = caret >= 0 ? caret : marked.indexOf("<");
  const end = caret >= 0 ? caret : marked.indexOf(">") - 1;
  const text = marked.replace(/[|<>]/g, "");
  const edit = change({ text, start, end });
  if (!edit) return null;
  const result = text.slice(0, edit.start) + edit.text + text.slice(edit.end);
  const [from, to] = [edit.selectionStart, edit.selectionEnd];
  if (from === to) return `${result.slice(0, from)}|${result.slice(from)}`;
  return `${result.slice(0, from)}<${result.slice(from, to)}>${result.slice(to)}`;
}

describe("characters", () => {
  for (const [marked, key, expected] of [
    ["|", "{", "{|}"], ["a| b", "(", "a(|) b"], ["|a", "{", null], ["{|}", "}", "{}|"], ["(|)", ")", "()|"],
    ["<a b>", "{", "{<a b>}"], ["<a>", '"', '"<a>"'], ["|", '"', '"|"'], ['"a|"', '"', '"a"|'], ['"|', '"', null], ['""|', '"', null],
    ["{\n  a\n  |", "}", "{\n  a\n}|"], ["  {\n    |", "}", "  {\n  }|"], ["a|", "b", null],
  ]) {
    test(`${marked} ${key}`, () => assert.equal(edited(marked, (state) => typeCharacter(state, key)), expected));
  }
});

describe("Enter", () => {
  for (const [marked, expected] of [
    ["  a|", "  a\n  |"], ["{|}", "{\n  |\n}"], ["  {|  }", "  {\n    |\n  }"], ["a(|b)", "a(\n  |b)"], ["{\n|", "{\n\n|"],
  ]) {
    test(JSON.stringify(marked), () => assert.equal(edited(marked, breakLine), expected));
  }
});

test("Backspace removes an empty pair", () => {
  assert.equal(edited("a(|)", removePair), "a|");
  assert.equal(edited("a(b|)", removePair), null);
});

test("lines are indented and made comments, and the other way round", () => {
  assert.equal(edited("<a\nb>", (state) => shiftLines(state, false)), "<  a\n  b>");
  assert.equal(edited("<  a\n b>", (state) => shiftLines(state, true)), "<a\nb>");
  assert.equal(edited("  a|", toggleComment), "  # a|");
  assert.equal(edited("  # a|", toggleComment), "  a|");
  assert.equal(edited("<{\n  a\n\n}>", toggleComment), "<# {\n#   a\n\n# }>");
  assert.equal(edited("<# {\n#   a\n\n# }>", toggleComment), "<{\n  a\n\n}>");
});

test("brackets match", () => {
  assert.deepEqual(matchBrackets("{ a(b) }", 1), [0, 7]);
  assert.deepEqual(matchBrackets("{ a(b) }", 6), [3, 5]);
  assert.equal(matchBrackets("{ a", 1), null);
  assert.equal(matchBrackets("a b", 1), null);
});

describe("colours", () => {
  const kinds = (lines) => lines.flat().filter(({ kind }) => kind).map(({ kind, text }) => `${kind}:${text}`);

  test("of a document", () => {
    assert.deepEqual(kinds(highlightGraphQL('query A($x: Int = 1) { b(c: E) @d ...F } # e')), [
      "keyword:query", "definition:A", "punctuation:(", "variable:$", "variable:x", "punctuation::", "type:Int", "punctuation:=", "number:1",
      "punctuation:)", "punctuation:{", "field:b", "punctuation:(", "attribute:c", "punctuation::", "type:E", "punctuation:)", "directive:@",
      "directive:d", "punctuation:...", "type:F", "punctuation:}", "comment:# e",
    ]);
  });

  test("of JSON and headers", () => {
    assert.deepEqual(kinds(highlightJson('{"a": [1, "b", null]}')), ['attribute:"a"', "number:1", 'string:"b"', "constant:null"]);
    assert.deepEqual(kinds(highlightHeaders("# c\ntoken: a\nuser")), ["comment:# c", "attribute:token", "punctuation::", "string: a", "attribute:user"]);
  });

  test("keep the text, line by line, also in a block string and a large text", () => {
    const join = (lines) => lines.map((line) => line.map(({ text }) => text).join("")).join("\n");
    for (const source of ['{ a(b: """\n\nc\n""") }\n\n', "x ".repeat(60_000)]) assert.equal(join(highlightGraphQL(source)), source);
    assert.deepEqual(plainLines("a\n\nb").length, 3);
  });
});

test("positions are counted from 1, as in GraphQL errors", () => {
  const text = "ab\ncd\n";
  for (const [offset, line, column] of [[0, 1, 1], [2, 1, 3], [3, 2, 1], [6, 3, 1]]) {
    assert.deepEqual(positionOf(text, offset), { line, column });
    assert.equal(offsetOf(text, { line, column }), offset);
  }
  assert.equal(offsetOf(text, { line: 1, column: 99 }), 2);
  assert.equal(offsetOf(text, { line: 9, column: 1 }), 6);
});
