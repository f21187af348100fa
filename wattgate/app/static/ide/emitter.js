/** Named events with one payload each. A listener that throws does not stop the others. */

export class Emitter {
  /** @type {Map<string, Set<(payload: any) => void>>} */
  #listeners = new Map();

  /**
   * Call a function with the payload of each event of a name.
   * @param {string} name
   * @param {(payload: any) => void} listener
   */
  on(name, listener) {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
  }

  /**
   * @param {string} name
   * @param {unknown} [payload]
   */
  emit(name, payload) {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) {
      try {
        listener(payload);
      } catch (thrown) {
        console.error(thrown);
      }
    }
  }
}
