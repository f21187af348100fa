/** What the page has to do later, by names, on one timer: whatever is put on it again takes the place of the old. */

/** Timers count in 32 bits, which is some 24 days; an entry further away is looked at again until it is due. */
const MAX_DELAY = 86_400_000;

export class TimerQueue {
  #entries = new Map();
  #timer = 0;

  get size() {
    return this.#entries.size;
  }

  schedule(delay, name, callback) {
    this.#entries.set(name, { due: performance.now() + delay, callback });
    this.#restart();
  }

  cancel(name) {
    this.#entries.delete(name);
    this.#restart();
  }

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
    const due = [...this.#entries].filter(([, entry]) => entry.due <= time);
    for (const [name] of due) this.#entries.delete(name);
    // The timer is restarted before anything runs: an entry that fails must not stop the others for good.
    this.#restart();
    for (const [, entry] of due) entry.callback();
  }
}
