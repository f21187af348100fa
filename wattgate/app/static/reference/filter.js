/** The filter box: which operations have all of its words. */

export class Filter {
  #box;
  #onChange;

  /** `onChange` is called with the words, in lower case; `onEnter` when the reader wants to go to what is found. */
  constructor(box, { onChange, onEnter }) {
    this.#box = box;
    this.#onChange = onChange;
    box.addEventListener("input", () => this.#changed());
    box.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.clear();
      if (event.key === "Enter") onEnter();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target.closest("input, textarea, select, [contenteditable]")) return;
      event.preventDefault();
      box.focus();
      box.select();
    });
  }

  clear() {
    this.#box.value = "";
    this.#changed();
  }

  focus() {
    this.#box.focus();
  }

  #changed() {
    this.#onChange(this.#box.value.toLowerCase().split(/\s+/).filter(Boolean));
  }
}
