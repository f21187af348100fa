/** Named timers that share one browser timer. */

/** Browser timers count milliseconds in 32 bits, about 24 days. For a later entry the timer runs several times. */
const MAX_DELAY = 86_400_000;

export class TimerQueue {
  /** @type {Map<string, { due: number, callback: () => void }>} */
  #entries = new Map();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** Number of entries that are not due yet. */
  get size() {
    return this.#entries.size;
  }

  /**
   * Call a function later. An entry of the same name is replaced.
   * @param {number} delay  Milliseconds.
   * @param {string} name
   * @param {() => void} callback
   */
  schedule(delay, name, callback) {
    this.#entries.set(name, { due: performance.now() + delay, callback });
    this.#restart();
  }

  /**
   * Run an entry now, if there is one of this name.
   * @param {string} name
   */
  runNow(name) {
    const entry = this.#entries.get(name);
    if (!entry) return;
    this.cancel(name);
    entry.callback();
  }

  /**
   * Remove an entry, if there is one of this name.
   * @param {string} name
   */
  cancel(name) {
    this.#entries.delete(name);
    this.#restart();
  }

  /** Remove all entries. */
  clear() {
    this.#entries.clear();
    this.#restart();
  }

  #restart() {
    clearTimeout(this.#timer);
    if (this.#entries.size === 0) return;
    const first = Math.min(...[...this.#entries.values()].map(({ due }) => due));
    this.#timer = setTimeout(() => this.#run(), Math.min(Math.max(first - performance.now(), 0), MAX_DELAY));
  }

  #run() {
    const time = performance.now();
    // A late browser timer finds several entries due at once: they run in the order of their times.
    const due = [...this.#entries].filter(([, entry]) => entry.due <= time).sort(([, a], [, b]) => a.due - b.due);
    for (const [name] of due) this.#entries.delete(name);
    // Restart the timer before the callbacks run: a callback that throws must not stop the queue.
    this.#restart();
    for (const [, entry] of due) entry.callback();
  }
}
