/**
 * One tab stop for a group of elements: the Tab key reaches the group once, and keys move between its elements. The
 * element that the pointer or the focus is on is selected.
 */

export class RovingFocus {
  /** @type {HTMLElement} */
  #group;
  /** @type {((index: number | null) => void) | null} */
  #onSelect;
  /** @type {HTMLElement | null} */
  #pointed = null;

  /**
   * @param {HTMLElement} group  Its children are the elements.
   * @param {(index: number | null) => void} [onSelect]
   *   Called with the index of the element that the pointer or the focus is on, or null if there is none. Without it,
   *   no element is selected.
   */
  constructor(group, onSelect) {
    this.#group = group;
    this.#onSelect = onSelect ?? null;
    group.addEventListener("keydown", (event) => this.#move(event));
    if (!onSelect) return;
    group.addEventListener("focusin", () => this.clearPointed());
    group.addEventListener("focusout", () => this.updateSelection());
    group.addEventListener("pointerover", ({ target }) => this.#point(target));
    group.addEventListener("pointerleave", () => this.clearPointed());
  }

  /** @type {HTMLElement[]} */
  get elements() {
    return /** @type {HTMLElement[]} */ ([...this.#group.children]);
  }

  /**
   * Make an element the tab stop if there is none yet, or if it is gone.
   * @param {HTMLElement | undefined} stop
   */
  ensureStop(stop) {
    if (stop && !this.#group.querySelector(':scope > [tabindex="0"]')) this.#setStop(stop);
  }

  /** Forget where the pointer is: the focus selects an element. */
  clearPointed() {
    this.#point(null);
  }

  /** Select the element of the pointer or else of the focus, after the elements have changed. */
  updateSelection() {
    const { elements } = this;
    const index = elements.indexOf(this.#pointed ?? /** @type {HTMLElement} */ (document.activeElement));
    elements.forEach((element, position) => element.classList.toggle("selected", position === index));
    this.#onSelect?.(index < 0 ? null : index);
  }

  /** @param {EventTarget | null} target */
  #point(target) {
    this.#pointed = this.elements.find((element) => target instanceof Node && element.contains(target)) ?? null;
    this.updateSelection();
  }

  /** @param {KeyboardEvent} event */
  #move(event) {
    const elements = this.elements;
    const index = elements.findIndex((element) => element === event.target);
    if (index < 0) return;
    /** @type {Record<string, HTMLElement | undefined>} */
    const targets = {
      ArrowRight: elements[index + 1],
      ArrowLeft: elements[index - 1],
      Home: elements[0],
      End: elements.at(-1),
    };
    const next = targets[event.key];
    if (!next) return;
    event.preventDefault();
    this.#setStop(next);
    next.focus();
  }

  /** @param {HTMLElement} stop */
  #setStop(stop) {
    for (const element of this.elements) element.tabIndex = element === stop ? 0 : -1;
  }
}
