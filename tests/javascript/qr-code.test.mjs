/** Drawing of a QR code: the path covers the dark modules, and only these. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { QUIET_ZONE, darkPath, viewBox } from "../../wattgate/app/static/display/qr-code.js";

/** Return the modules that a path of rectangles covers, row by row, without the quiet zone. */
function covered(path, size) {
  const rows = Array.from({ length: size }, () => Array(size).fill("0"));
  for (const [, x, y, width, back] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-(\d+)z/g)) {
    assert.equal(width, back);
    for (let column = 0; column < Number(width); column += 1) {
      rows[Number(y) - QUIET_ZONE][Number(x) - QUIET_ZONE + column] = "1";
    }
  }
  return rows.map((row) => row.join(""));
}

test("the path covers the dark modules", () => {
  const rows = ["1110111", "1010101", "0000000", "1111111", "0000001", "1000000", "0101010"];
  assert.deepEqual(covered(darkPath(rows), rows.length), rows);
});

test("a run of modules is one rectangle", () => {
  assert.equal(darkPath(["011101"]), "M5 4h3v1h-3zM9 4h1v1h-1z");
});

test("a light border surrounds the code", () => {
  assert.equal(QUIET_ZONE, 4);
  assert.equal(viewBox(Array(21).fill("0".repeat(21))), "0 0 29 29");
});
