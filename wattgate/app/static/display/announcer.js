/** Tells a screen reader how things stand, but not with every reading. */

const MIN_INTERVAL = 60_000;

export class Announcer {
  #region;
  #subject = null;
  #lastTime = 0;

  constructor(region) {
    this.#region = region;
  }

  /** Say a text if it is about something else than the last one or that was a while ago. */
  announce(subject, text) {
    const time = performance.now();
    if (subject === this.#subject && time - this.#lastTime < MIN_INTERVAL) return;
    this.#subject = subject;
    this.#lastTime = time;
    this.#region.textContent = text;
  }
}
