/** The filter field: its words select the operations that have all of them. */

/**
 * @typedef {object} FilterHandlers
 * @property {(words: string[]) => void} onChange  Called with the words in lower case.
 * @property {() => void} onEnter  Called when the user presses Enter, to go to the first match.
 */

export class Filter {
  /** @type {HTMLInputElement} */
  #input;
  /** @type {FilterHandlers} */
  #handlers;

  /**
   * @param {HTMLInputElement} input
   * @param {FilterHandlers} handlers
   */
  constructor(input, handlers) {
    this.#input = input;
    this.#handlers = handlers;
    input.addEventListener("input", () => this.#changed());
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.clear();
      if (event.key === "Enter") handlers.onEnter();
    });
    document.addEventListener("keydown", (event) => this.#onShortcut(event));
  }

  /** Remove all words. */
  clear() {
    this.#input.value = "";
    this.#changed();
  }

  /** Move the focus to the field. */
  focus() {
    this.#input.focus();
  }

  #changed() {
    this.#handlers.onChange(this.#input.value.toLowerCase().split(/\s+/).filter(Boolean));
  }

  /**
   * Move the focus to the field when the user presses "/" outside a field.
   * @param {KeyboardEvent} event
   */
  #onShortcut(event) {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    const { target } = event;
    if (target instanceof Element && target.closest("input, textarea, select, [contenteditable]")) return;
    event.preventDefault();
    this.#input.focus();
    this.#input.select();
  }
}
