import assert from "node:assert/strict";
import { test } from "node:test";

import { emulateColorScheme } from "../../wattgate/app/static/shared/color-scheme.js";

const ALWAYS = "(min-width: 0)";
const NEVER = "(min-width: 9999999px)";

test("media queries get the answer of the client", () => {
  const css = "@media (prefers-color-scheme: dark){p{color:red}}@media screen and ( Prefers-Color-Scheme:light ){b{}}";
  assert.equal(
    emulateColorScheme(`<style type="text/css">${css}</style>`, "dark"),
    `<style type="text/css">@media ${ALWAYS}{p{color:red}}@media screen and ${NEVER}{b{}}</style>`,
  );
  assert.equal(
    emulateColorScheme(`<style>${css}</style>`, "light"),
    `<style>@media ${NEVER}{p{color:red}}@media screen and ${ALWAYS}{b{}}</style>`,
  );
  assert.equal(emulateColorScheme("<style>@media (prefers-color-scheme){}</style>", "light"), `<style>@media ${ALWAYS}{}</style>`);
});

test("media attributes get the answer of the client, texts stay", () => {
  const source = '<source media="(prefers-color-scheme: dark)" srcset="x"><p>(prefers-color-scheme: dark)</p>';
  assert.equal(emulateColorScheme(source, "dark"), source.replace("(prefers-color-scheme: dark)", ALWAYS));
  assert.equal(emulateColorScheme("<style media='(prefers-color-scheme:dark)'></style>", "light"), `<style media='${NEVER}'></style>`);
});

test("a mail that has both schemes gets the one of the client", () => {
  assert.equal(emulateColorScheme("<style>:root { color-scheme: light dark; }</style>", "dark"), "<style>:root { color-scheme: dark; }</style>");
  assert.equal(emulateColorScheme('<meta name="color-scheme" content="dark light">', "light"), '<meta name="color-scheme" content="light">');
  assert.equal(emulateColorScheme('<meta content="light, dark" name=color-scheme>', "dark"), '<meta content="dark" name=color-scheme>');
  assert.equal(emulateColorScheme("<style>:root{color-scheme:dark}</style>", "light"), "<style>:root{color-scheme:dark}</style>");
});
