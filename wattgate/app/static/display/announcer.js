/** Announces the state of the display to screen readers, but not every reading. */

/** Milliseconds after which the same subject is announced again. */
const MIN_INTERVAL = 60_000;

export class Announcer {
  /** @type {HTMLElement} */
  #region;
  /** @type {string | null} */
  #subject = null;
  #lastTime = 0;

  /** @param {HTMLElement} region  An ARIA live region. */
  constructor(region) {
    this.#region = region;
  }

  /**
   * Announce a text if its subject differs from the last one, or if the last announcement was a minute ago.
   * @param {string} subject
   * @param {string} text
   */
  announce(subject, text) {
    const time = performance.now();
    if (subject === this.#subject && time - this.#lastTime < MIN_INTERVAL) return;
    this.#subject = subject;
    this.#lastTime = time;
    this.#region.textContent = text;
  }
}
