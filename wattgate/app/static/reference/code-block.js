/** Code with a heading and a button that copies it. */

import { element } from "../shared/dom.js";

const FEEDBACK_DURATION = 2000;
const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;

export function codeBlock(title, text, shown = text) {
  const listing = element("pre", { tabindex: "0", "aria-label": title }, element("code", {}, shown));
  const button = element("button", { class: "copy", type: "button", "aria-live": "polite" }, "Copy");
  button.addEventListener("click", async () => {
    button.textContent = (await copyText(text)) ? "Copied" : selectText(listing);
    setTimeout(() => (button.textContent = "Copy"), FEEDBACK_DURATION);
  });
  const bar = element("div", { class: "bar" }, element("h4", {}, title), button);
  return element("div", { class: "code-block" }, bar, listing);
}

export function jsonBlock(title, value) {
  const text = JSON.stringify(value, null, 2);
  return codeBlock(title, text, highlight(text));
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // there is no clipboard for pages that came over plain HTTP
  }
}

function selectText(listing) {
  getSelection().selectAllChildren(listing);
  return "Selected";
}

function highlight(json) {
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
