/** Keeps the screen on while the display is shown. */

/** Milliseconds until the next attempt after a refusal, for example when its battery was low. */
const RETRY_DELAY = 60_000;
/** Screens with a shorter side are phones. A phone in a pocket or a hand switches itself off. */
const SHORTEST_PANEL_SIDE = 500;

export class WakeLock {
  #wanted = false;
  #asking = false;
  /** @type {WakeLockSentinel | null} */
  #sentinel = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  constructor() {
    // Browsers release the lock of a page that is hidden.
    document.addEventListener("visibilitychange", () => this.#update());
    document.addEventListener("fullscreenchange", () => this.#update());
  }

  /**
   * Keep the screen on from now on, or no longer.
   * @param {boolean} wanted
   */
  setWanted(wanted) {
    this.#wanted = wanted;
    this.#update();
  }

  async #update() {
    clearTimeout(this.#timer);
    if (!this.#wanted || !isPanel()) {
      await this.#sentinel?.release();
      return;
    }
    if (this.#sentinel || this.#asking || document.visibilityState !== "visible") return;
    this.#asking = true;
    try {
      this.#keep(await navigator.wakeLock?.request("screen"));
    } catch {
      this.#timer = setTimeout(() => this.#update(), RETRY_DELAY);
    } finally {
      this.#asking = false;
    }
    if (!this.#wanted) this.#update();
  }

  /** @param {WakeLockSentinel | undefined} sentinel  Undefined in browsers without wake locks. */
  #keep(sentinel) {
    if (!sentinel) return;
    this.#sentinel = sentinel;
    sentinel.addEventListener("release", () => {
      this.#sentinel = null;
      this.#update();
    });
  }
}

/** Whether the page is on a screen that is larger than a phone's, or fills the screen. */
function isPanel() {
  if (document.fullscreenElement || matchMedia("(display-mode: fullscreen)").matches) return true;
  const isTouch = matchMedia("(pointer: coarse)").matches;
  return !isTouch || Math.min(screen.width, screen.height) >= SHORTEST_PANEL_SIDE;
}
