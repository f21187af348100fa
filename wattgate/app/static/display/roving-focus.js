/** One tab stop for a group of elements: the Tab key reaches the group once, and keys move between its elements. */

export class RovingFocus {
  /** @type {HTMLElement} */
  #group;

  /** @param {HTMLElement} group  Its children are the elements. */
  constructor(group) {
    this.#group = group;
    group.addEventListener("keydown", (event) => this.#move(event));
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
