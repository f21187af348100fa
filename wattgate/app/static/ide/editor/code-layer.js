/** The coloured text behind a text area. Only lines that change are rebuilt. */

import { element } from "../../shared/dom.js";

/** @import { Piece } from "./highlight.js" */

export class CodeLayer {
  #root;
  /** @type {{ key: string, node: HTMLElement, length: number }[]} */
  #lines = [];

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
  }

  get lineCount() {
    return this.#lines.length;
  }

  /** @param {Piece[][]} lines */
  render(lines) {
    const shown = lines.map((pieces) => ({ pieces, key: pieces.map(({ kind, text }) => `${kind}\u0000${text}`).join("\u0001") }));
    const old = this.#lines;
    let first = 0;
    while (first < old.length && first < shown.length && old[first].key === shown[first].key) first += 1;
    let tail = 0;
    const most = Math.min(old.length, shown.length) - first;
    while (tail < most && old[old.length - 1 - tail].key === shown[shown.length - 1 - tail].key) tail += 1;
    const added = shown.slice(first, shown.length - tail).map(({ pieces, key }) => makeLine(pieces, key));
    for (const { node } of old.slice(first, old.length - tail)) node.remove();
    const after = old[old.length - tail]?.node ?? null;
    for (const { node } of added) this.#root.insertBefore(node, after);
    this.#lines = [...old.slice(0, first), ...added, ...old.slice(old.length - tail)];
  }

  /**
   * Return the range of the shown text between two offsets, or null behind its end.
   * @param {number} start
   * @param {number} end
   * @returns {Range | null}
   */
  range(start, end) {
    const [from, to] = [this.#locate(start), this.#locate(end)];
    if (!from || !to) return null;
    const range = document.createRange();
    range.setStart(from.node, from.offset);
    range.setEnd(to.node, to.offset);
    return range;
  }

  /**
   * @param {number} offset
   * @returns {{ node: Node, offset: number } | null}
   */
  #locate(offset) {
    let rest = offset;
    for (const { node, length } of this.#lines) {
      if (rest > length) {
        rest -= length + 1;
        continue;
      }
      for (const child of node.childNodes) {
        const text = child instanceof Text ? child : child.firstChild;
        if (!(text instanceof Text)) continue;
        if (rest <= text.length) return { node: text, offset: rest };
        rest -= text.length;
      }
      return { node, offset: 0 };
    }
    return null;
  }
}

/**
 * @param {Piece[]} pieces
 * @param {string} key
 */
function makeLine(pieces, key) {
  const children = pieces.map(({ kind, text }) => (kind ? element("span", { class: kind }, text) : document.createTextNode(text)));
  // An empty line needs a character to have its height.
  const node = element("div", { class: "line" }, children.length ? children : "\u200b");
  return { key, node, length: pieces.reduce((sum, { text }) => sum + text.length, 0) };
}
