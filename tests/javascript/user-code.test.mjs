/** The code that a user enters: its spellings, parts, and the fragment of an address. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { codeCharacters, codeOfFragment, formatCode, spellCode } from "../../wattgate/app/static/shared/user-code.js";

describe("spellings of a code", () => {
  for (const typed of ["BCDF-2345", "bcdf2345", " bcdf 2345 ", "B.C.D.F 2–3–4–5", "ＢＣＤＦ２３４５"]) {
    test(`${typed}`, () => {
      assert.equal(codeCharacters(typed), "BCDF2345");
      assert.equal(formatCode(typed), "BCDF-2345");
    });
  }

  test("a part has no dash before its fifth character", () => {
    assert.deepEqual(["", "b", "bcdf", "bcdf-", "bcdf2"].map(formatCode), ["", "B", "BCDF", "BCDF", "BCDF-2"]);
  });
});

describe("the fragment of an address", () => {
  for (const fragment of ["#BCDF-2345", "#bcdf2345", "BCDF-2345", "#bcdf%202345"]) {
    test(`${fragment} is a code`, () => assert.equal(codeOfFragment(fragment), "BCDF-2345"));
  }

  for (const fragment of ["", "#", "#BCDF", "#BCDF-23456", "#<img src=x>", `#${"B".repeat(1000)}`, "#code=BCDF2345"]) {
    test(`${fragment.slice(0, 20) || "an empty one"} is none`, () => assert.equal(codeOfFragment(fragment), ""));
  }
});

test("a screen reader spells a code", () => {
  assert.equal(spellCode("BCDF-2345"), "B C D F, 2 3 4 5");
});
