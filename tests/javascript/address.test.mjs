/** The parameters in the address of the display. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { findHome, readAddress } from "../../wattgate/app/static/display/address.js";
import { mediaFor } from "../../wattgate/app/static/display/theme.js";

const NOTHING = { home: null, span: null, theme: null, lang: null, badValues: [] };

describe("the address", () => {
  for (const [search, expected] of [
    ["", {}],
    ["?", {}],
    ["?other=1", {}],
    ["?home=&span=&theme=&lang=", {}],
    ["?home=Harbour+Cottage", { home: "Harbour Cottage" }],
    ["?span=weeks&theme=dark&lang=fr-CA", { span: "weeks", theme: "dark", lang: "fr-CA" }],
    ["?span=HOURS&theme=Auto&lang=FR", { span: "hours", theme: "auto", lang: "fr" }],
    ["?theme=dark&theme=light", { theme: "dark" }],
  ]) {
    test(`"${search}"`, () => assert.deepEqual(readAddress(search), { ...NOTHING, ...expected }));
  }

  for (const [name, value, allowed] of [
    ["span", "year", ["hours", "days", "weeks", "months"]],
    ["span", "constructor", ["hours", "days", "weeks", "months"]],
    ["theme", "<b>", ["light", "dark", "auto"]],
    ["lang", "klingon", ["en", "fr"]],
    ["lang", "de", ["en", "fr"]],
  ]) {
    test(`ignores ${value} as ${name}, and names it`, () => {
      const search = `?${new URLSearchParams([[name, value]])}`;
      assert.deepEqual(readAddress(search), { ...NOTHING, badValues: [{ name, value, allowed }] });
    });
  }

  test("names only the beginning of a long value", () => {
    assert.equal(readAddress(`?theme=${"x".repeat(1000)}`).badValues[0].value, `${"x".repeat(40)}…`);
  });
});

describe("the home of the address", () => {
  const homes = [{ homeId: "a1", name: "Attic" }, { homeId: "b2", name: "A1" }, { homeId: "c3", name: "Attic" }];

  test("is found by its ID, then by its name", () => {
    assert.equal(findHome(homes, "A1"), homes[0]);
    assert.equal(findHome(homes, "attic"), homes[0]);
    assert.equal(findHome(homes, "c3"), homes[2]);
    assert.equal(findHome(homes, "Castle"), undefined);
    assert.equal(findHome([], "Castle"), undefined);
  });
});

describe("a theme", () => {
  test("replaces what the device prefers, and nothing else", () => {
    assert.equal(mediaFor("(prefers-color-scheme: dark)", "dark"), "(min-width: 0px)");
    assert.equal(mediaFor("(prefers-color-scheme: dark)", "light"), "(max-width: 0px)");
    assert.equal(
      mediaFor("(min-width: 44rem) and (prefers-color-scheme:light)", "light"),
      "(min-width: 44rem) and (min-width: 0px)",
    );
    assert.equal(mediaFor("(prefers-reduced-motion: reduce)", "dark"), "(prefers-reduced-motion: reduce)");
  });
});
