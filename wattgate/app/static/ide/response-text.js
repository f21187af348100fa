/**
 * The body of a response. It is shown in parts, which the browser lays out and the page colours only when they are near the
 * visible ones, so that a large response can be scrolled, searched and selected like a small one.
 */

import { element } from "../shared/dom.js";
import { highlightJson } from "./editor/highlight.js";

const LINES_OF_PART = 150;

export class ResponseText {
  value = "";
  #root;
  /** @type {IntersectionObserver} */
  #observer;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
    this.#observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        this.#observer.unobserve(target);
        colour(target);
      }
    }, { root, rootMargin: "400px" });
  }

  /** @param {string} text */
  showHint(text) {
    this.value = "";
    this.#observer.disconnect();
    this.#root.replaceChildren(element("p", { class: "response-hint" }, text));
  }

  /**
   * @param {string} text
   * @param {boolean} isJson
   */
  show(text, isJson) {
    const { scrollTop } = this.#root;
    const isUpdate = this.value !== "";
    this.value = text;
    this.#observer.disconnect();
    const lines = text.split("\n");
    const parts = [];
    for (let start = 0; start < lines.length; start += LINES_OF_PART) {
      const some = lines.slice(start, start + LINES_OF_PART);
      const part = element("div", { class: "part" }, `${some.join("\n")}\n`);
      part.style.containIntrinsicHeight = `auto ${some.length * 1.55}em`;
      parts.push(part);
    }
    this.#root.replaceChildren(element("pre", { "data-testid": "response-text" }, parts));
    if (isUpdate) this.#root.scrollTop = scrollTop;
    if (isJson) for (const part of parts) this.#observer.observe(part);
  }
}

/** @param {Element} part */
function colour(part) {
  const text = part.textContent ?? "";
  const selection = getSelection();
  // The new nodes would end a selection that reaches into this part.
  if (selection && !selection.isCollapsed && selection.containsNode(part, true)) return;
  const nodes = highlightJson(text).flatMap((pieces, index) => [
    ...(index ? ["\n"] : []),
    ...pieces.map((piece) => (piece.kind ? element("span", { class: piece.kind }, piece.text) : piece.text)),
  ]);
  part.replaceChildren(...nodes);
}
