/** Code with a heading and a button that copies it. */

import { copyText } from "../shared/clipboard.js";
import { element } from "../shared/dom.js";

/** @import { Child } from "../shared/dom.js" */

/** Milliseconds for which the button shows what it has done. */
const FEEDBACK_DURATION = 2000;
/** Characters above which JSON has no colours, so that the page stays fast. */
const MAX_HIGHLIGHTED = 60_000;
const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;

/**
 * Create a block of code.
 * @param {string} title
 * @param {string} text  What the button copies.
 * @param {Child} shown  The same text, possibly with markup.
 * @param {Child} actions  Elements beside the button.
 * @returns {HTMLElement}
 */
export function codeBlock(title, text, shown = text, actions = null) {
  const listing = element("pre", { tabindex: "0", role: "group", "aria-label": title }, element("code", {}, shown));
  const buttons = element("div", { class: "bar-actions" }, actions, copyButton(() => text, listing));
  const bar = element("div", { class: "bar" }, element("p", { class: "block-title" }, title), buttons);
  return element("div", { class: "code-block" }, bar, listing);
}

/**
 * Create a button that copies a text, or selects it where the page has no clipboard.
 * @param {() => string} text
 * @param {HTMLElement} listing
 * @returns {HTMLElement}
 */
export function copyButton(text, listing) {
  const button = element("button", { class: "copy", type: "button", "aria-live": "polite" }, "Copy");
  button.addEventListener("click", async () => {
    button.textContent = (await copyText(text())) ? "Copied" : selectText(listing);
    setTimeout(() => (button.textContent = "Copy"), FEEDBACK_DURATION);
  });
  return button;
}

/**
 * Create a block of code of a JSON value.
 * @param {string} title
 * @param {unknown} value
 * @returns {HTMLElement}
 */
export function jsonBlock(title, value) {
  const text = JSON.stringify(value, null, 2);
  return codeBlock(title, text, highlight(text));
}

/** @param {HTMLElement} listing */
function selectText(listing) {
  getSelection()?.selectAllChildren(listing);
  return "Selected";
}

/**
 * Return a JSON text with its tokens in colour.
 * @param {string} json
 * @returns {Child[]}
 */
export function highlight(json) {
  if (json.length > MAX_HIGHLIGHTED) return [json];
  /** @type {Child[]} */
  const parts = [];
  let end = 0;
  for (const match of json.matchAll(TOKENS)) {
    const [token, string, colon] = match;
    const kind = colon ? "key" : string ? "string" : "literal";
    const text = colon ? string : token;
    parts.push(json.slice(end, match.index), element("span", { class: kind }, text));
    end = match.index + text.length;
  }
  return [...parts, json.slice(end)];
}
