/** The list of suggestions at the caret. Arrow keys select, Tab or Enter insert, Escape closes. The field keeps the focus. */

import { closestTo, element, find, findAll } from "../../shared/dom.js";

/** @import { CodeEditor } from "./code-editor.js" */

/** @typedef {{ label: string, insert: string, detail?: string, description?: string, isDeprecated?: boolean, caretBack?: number, asks?: boolean }} Item */
/** @typedef {{ start: number, items: Item[] }} Completion */

const root = find(document, "#completion");
/**
 * The popup that is open.
 * @type {CompletionPopup | null}
 */
let opened = null;
// The field keeps the focus while the mouse selects.
root.addEventListener("mousedown", (event) => event.preventDefault());
root.addEventListener("click", (event) => {
  const option = closestTo(event, "[role=option]");
  if (option) opened?.choose(Number(option.dataset.index));
});

export class CompletionPopup {
  #editor;
  #complete;
  #triggers;
  /** @type {Completion | null} */
  #completion = null;
  #selected = 0;
  /** Whether the last input found no suggestions that it should open. */
  #isWaiting = false;

  /**
   * @param {CodeEditor} editor
   * @param {(text: string, caret: number, isAsked: boolean) => Completion | null} complete
   * @param {RegExp} triggers  Characters after which suggestions open while somebody types.
   */
  constructor(editor, complete, triggers) {
    this.#editor = editor;
    this.#complete = complete;
    this.#triggers = triggers;
    const { area } = editor;
    area.setAttribute("aria-autocomplete", "list");
    area.setAttribute("aria-controls", root.id);
    area.addEventListener("keydown", (event) => this.#onKey(event), { capture: true });
    area.addEventListener("input", (event) => this.#onInput(event));
    area.addEventListener("blur", () => this.close());
    area.addEventListener("scroll", () => this.close());
    area.addEventListener("pointerdown", () => this.close());
  }

  get isOpen() {
    return this.#completion !== null;
  }

  close() {
    this.#isWaiting = false;
    if (!this.#completion) return;
    this.#completion = null;
    opened = null;
    this.#editor.area.removeAttribute("aria-activedescendant");
    root.hidden = true;
  }

  /** @param {boolean} isAsked  Whether the user asks for suggestions by a key. */
  open(isAsked) {
    const { value, caret } = this.#editor;
    const completion = this.#complete(value, caret, isAsked);
    const [only, ...others] = completion?.items ?? [];
    const isComplete = only && !others.length && value.slice(completion?.start, caret) === only.insert;
    if (!completion || !only || isComplete) {
      this.close();
      this.#isWaiting = !only;
      return;
    }
    this.#completion = completion;
    opened = this;
    root.replaceChildren(...completion.items.map(makeOption));
    root.hidden = false;
    this.#select(0);
    this.#place(completion.start);
  }

  /** Open if the last input found no suggestions: the schema may be known now. */
  retry() {
    if (this.#isWaiting) this.open(false);
  }

  /** @param {number} index */
  choose(index) {
    const completion = this.#completion;
    if (!completion) return;
    const { insert, caretBack = 0, asks = false } = completion.items[index];
    const { start } = completion;
    this.close();
    const caret = start + insert.length - caretBack;
    this.#editor.apply({ start, end: this.#editor.caret, text: insert, selectionStart: caret, selectionEnd: caret });
    this.close();
    if (asks) this.open(false);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const { key, ctrlKey, metaKey, altKey } = event;
    if (key === " " && ctrlKey && !event.shiftKey) {
      event.preventDefault();
      this.open(true);
      return;
    }
    this.#isWaiting = false;
    const completion = this.#completion;
    if (!completion || ctrlKey || metaKey || altKey) return;
    if (key === "ArrowDown" || key === "ArrowUp") this.#select(this.#selected + (key === "ArrowDown" ? 1 : -1));
    else if (key === "Enter" || (key === "Tab" && !event.shiftKey)) this.choose(this.#selected);
    else if (key === "Escape") this.close();
    else {
      if (/^(?:Arrow|Home|End|Page)/.test(key)) this.close();
      return;
    }
    event.preventDefault();
  }

  /** @param {Event} event */
  #onInput(event) {
    if (!(event instanceof InputEvent) || event.isComposing) return;
    const typed = event.data ?? "";
    const isTyping = event.inputType === "insertText" && this.#triggers.test(typed.slice(0, 1));
    if (isTyping || (this.isOpen && event.inputType === "deleteContentBackward")) this.open(false);
    else this.close();
  }

  /** @param {number} index */
  #select(index) {
    const options = findAll(root, "[role=option]");
    this.#selected = (index + options.length) % options.length;
    options.forEach((option, position) => option.setAttribute("aria-selected", String(position === this.#selected)));
    const option = options[this.#selected];
    this.#editor.area.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  }

  /** @param {number} offset */
  #place(offset) {
    const { left, top, bottom } = this.#editor.boxOf(offset);
    const { offsetWidth, offsetHeight } = root;
    const isBelow = bottom + offsetHeight + 8 < innerHeight || top < offsetHeight;
    root.style.left = `${Math.max(4, Math.min(left - 8, innerWidth - offsetWidth - 4))}px`;
    root.style.top = `${isBelow ? bottom + 4 : top - offsetHeight - 4}px`;
  }
}

/**
 * @param {Item} item
 * @param {number} index
 */
function makeOption({ label, detail = "", description = "", isDeprecated = false }, index) {
  return element(
    "div",
    { role: "option", id: `completion-${index}`, class: isDeprecated ? "deprecated" : null, "data-index": String(index), "data-testid": "suggestion" },
    element("span", { class: "suggested" }, label),
    detail ? element("span", { class: "detail" }, detail) : null,
    description ? element("span", { class: "description" }, firstSentence(description)) : null,
  );
}

/** @param {string} text */
function firstSentence(text) {
  const [sentence] = /^[^]*?[.!?](?=\s|$)/.exec(text) ?? [text];
  return sentence.length > 160 ? `${sentence.slice(0, 160)}…` : sentence;
}
