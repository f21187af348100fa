/** Line differences of two sources. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { collapseUnchanged, diffLines, splitChange, summariseChanges } from "../../wattgate/app/static/preview/diff.js";

/** Write rows as `old|new`, with the kind of those that differ. */
const written = (rows) => {
  return rows.map(({ kind, left, right }) => `${kind === "same" ? "" : `${kind}: `}${left?.text ?? ""}|${right?.text ?? ""}`);
};
const lines = (count, name = "line") => Array.from({ length: count }, (_, index) => `${name} ${index}\n`).join("");

describe("differences of lines", () => {
  for (const [name, before, after, expected] of [
    ["no difference", "a\nb", "a\nb", ["a|a", "b|b"]],
    ["a line break at the end", "a\n", "a", ["a|a"]],
    ["two empty sources", "", "", []],
    ["everything added", "", "a\nb", ["added: |a", "added: |b"]],
    ["everything removed", "a\nb", "", ["removed: a|", "removed: b|"]],
    ["a changed line", "a\nb\nc", "a\nX\nc", ["a|a", "changed: b|X", "c|c"]],
    ["an added line", "a\nc", "a\nb\nc", ["a|a", "added: |b", "c|c"]],
    ["a moved line", "a\nb\nc", "b\nc\na", ["removed: a|", "b|b", "c|c", "added: |a"]],
    ["a line split in two", "a\nbc\nd", "a\nb\nc\nd", ["a|a", "changed: bc|b", "added: |c", "d|d"]],
    ["one of equal lines", "a\na\na", "a\na", ["a|a", "a|a", "removed: a|"]],
  ]) {
    test(name, () => assert.deepEqual(written(diffLines(before, after)), expected));
  }

  test("lines keep their numbers", () => {
    const rows = diffLines("a\nb", "b");
    assert.deepEqual(rows[1], { kind: "same", left: { number: 2, text: "b" }, right: { number: 1, text: "b" } });
  });

  test("the rows contain both sources whatever they are", () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const pick = (salt) => Array.from({ length: (seed * salt) % 9 }, (_, index) => "abc"[(seed * salt * (index + 3)) % 3]);
      const [before, after] = [pick(7), pick(11)];
      const rows = diffLines(before.join("\n"), after.join("\n"));
      assert.deepEqual(rows.flatMap(({ left }) => (left ? [left.text] : [])), before);
      assert.deepEqual(rows.flatMap(({ right }) => (right ? [right.text] : [])), after);
    }
  });

  test("sources that are too long to be matched count as replaced", () => {
    const rows = diffLines(lines(2_100, "old"), lines(2_100, "new"));
    assert.equal(rows.length, 2_100);
    assert.ok(rows.every(({ kind }) => kind === "changed"));
  });
});

test("unchanged lines far from a change become a gap", () => {
  const rows = collapseUnchanged(diffLines(`${lines(10)}old\n${lines(10)}`, `${lines(10)}new\n${lines(10)}`));
  assert.deepEqual(rows.map(({ kind, count }) => count ?? kind), [7, ...Array(3).fill("same"), "changed", ...Array(3).fill("same"), 7]);
});

describe("difference within a line", () => {
  for (const [before, after, expected] of [
    ["More energy", "Much more energy", [["", "More", " energy"], ["", "Much more", " energy"]]],
    ["a b c", "a X c", [["a ", "b", " c"], ["a ", "X", " c"]]],
    ["a", "a b", [["a", "", ""], ["a", " b", ""]]],
    ["same", "same", [["same", "", ""], ["same", "", ""]]],
  ]) {
    test(`${before} / ${after}`, () => assert.deepEqual(splitChange(before, after), expected));
  }
});

describe("summary of differences", () => {
  const content = { subject: "s", preheader: "p", htmlTemplate: "a\nb\nc", text: null };
  for (const [change, expected] of [
    [{}, ""],
    [{ subject: "t" }, "the subject"],
    [{ htmlTemplate: "a\nX\nc" }, "1 line of the HTML"],
    [{ subject: "t", preheader: "q", htmlTemplate: "X\nY\nc", text: "new" }, "the subject, the preheader, 2 lines of the HTML and 1 line of the text"],
  ]) {
    test(expected || "none", () => assert.equal(summariseChanges(content, { ...content, ...change }), expected));
  }
});
