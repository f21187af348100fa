/**
 * Pairing of this screen (RFC 8628): requests a code and polls until a user has decided about it.
 *
 * The gateway decides when a code has expired. The clock of the screen only says how long the code is valid, because it
 * may be set while the screen waits.
 */

import { toGatewayError } from "../shared/gateway.js";
import { backoffDelay, waitingTime } from "../shared/reconnect.js";

/** @import { GatewayError, Login } from "../shared/gateway.js" */
/** @import { Claim, StartedPairing } from "./pairing-requests.js" */

/**
 * Why there is no progress at present: no response, too many requests, or another error of the gateway.
 * `retryAt` is the time of the next attempt, in milliseconds since 1970.
 * @typedef {{ kind: "offline" | "limited" | "unavailable", retryAt: number }} Trouble
 */

/**
 * A code that a user can enter, and the time at which it expires, in milliseconds since 1970.
 * @typedef {{ started: StartedPairing, expiresAt: number }} OpenCode
 */

/**
 * The state of the pairing. `code` is null unless a user can enter it.
 * @typedef {object} PairingState
 * @property {"starting" | "waiting" | "denied" | "expired" | "paired"} phase
 * @property {OpenCode | null} code
 * @property {Trouble | null} trouble
 */

/**
 * The requests, the clock and the timers that the pairing uses.
 * @typedef {object} PairingTools
 * @property {() => Promise<StartedPairing>} start
 * @property {(deviceCode: string) => Promise<Claim>} claim
 * @property {() => number} now  Milliseconds since 1970.
 * @property {{ schedule(delay: number, name: string, callback: () => void): void, cancel(name: string): void }} timers
 * @property {() => number} [random]  From 0 to 1.
 */

/**
 * @typedef {object} PairingHandlers
 * @property {(state: PairingState) => void} onChange
 * @property {(paired: Login) => void} onPaired
 */

const SECOND = 1000;
const TIMER = "pairing";
/** After an answer `slow_down`, a client waits five seconds longer between its polls (RFC 8628, section 3.5). */
const SLOW_DOWN = 5;
/** Errors after which the same request may succeed later. After any other error, the code is of no use. */
const TEMPORARY_CODES = new Set(["UNREACHABLE", "UNAVAILABLE", "INTERNAL", "TIMED_OUT"]);

/**
 * Return for how many milliseconds a code is still valid. It is never more than at the start: a response can set the
 * clock of the page back.
 * @param {OpenCode} code
 * @param {number} time  Milliseconds since 1970.
 */
export function timeLeft({ started, expiresAt }, time) {
  return Math.max(0, Math.min(expiresAt - time, started.expiresIn * SECOND));
}

export class Pairing {
  /** @type {PairingTools} */
  #tools;
  /** @type {PairingHandlers} */
  #handlers;
  /** @type {PairingState | null} */
  #state = null;
  #interval = 0;
  #failures = 0;
  /** Responses to requests of an earlier run are ignored. */
  #run = 0;

  /**
   * @param {PairingTools} tools
   * @param {PairingHandlers} handlers
   */
  constructor(tools, handlers) {
    this.#tools = tools;
    this.#handlers = handlers;
  }

  /** The current state, or null if no pairing is open. */
  get state() {
    return this.#state;
  }

  /** Request a code. It replaces the current one. */
  begin() {
    this.cancel();
    this.#failures = 0;
    this.#set({ phase: "starting", code: null, trouble: null });
    this.#start();
  }

  /** End the pairing without a result. */
  cancel() {
    this.#run += 1;
    this.#tools.timers.cancel(TIMER);
    this.#state = null;
  }

  /** Repeat a failed request at once, for example because the network is back. */
  retry() {
    if (this.#state?.trouble?.kind === "offline") this.#after(0);
  }

  async #start() {
    const run = this.#run;
    try {
      const started = await this.#tools.start();
      if (run !== this.#run) return;
      this.#interval = started.interval;
      const expiresAt = this.#tools.now() + started.expiresIn * SECOND;
      this.#succeed({ phase: "waiting", code: { started, expiresAt }, trouble: null });
      this.#pollLater();
    } catch (thrown) {
      if (run === this.#run) this.#fail(toGatewayError(thrown));
    }
  }

  async #poll() {
    const [run, code] = [this.#run, this.#state?.code];
    if (!code) return;
    try {
      const claim = await this.#tools.claim(code.started.deviceCode);
      if (run === this.#run) this.#receive(claim, code);
    } catch (thrown) {
      if (run === this.#run) this.#failPoll(toGatewayError(thrown), code);
    }
  }

  /**
   * @param {Claim} claim
   * @param {OpenCode} code
   */
  #receive(claim, code) {
    if (claim.state === "APPROVED" && claim.paired) {
      this.#set({ phase: "paired", code: null, trouble: null });
      this.#handlers.onPaired(claim.paired);
    } else if (claim.state === "DENIED") {
      this.#set({ phase: "denied", code: null, trouble: null });
    } else if (this.#isOver(code)) {
      this.#expire();
    } else {
      this.#interval = Math.max(this.#interval, claim.interval);
      this.#succeed({ phase: "waiting", code, trouble: null });
      this.#pollLater();
    }
  }

  /**
   * @param {GatewayError} error
   * @param {OpenCode} code
   */
  #failPoll(error, code) {
    if (error.code === "RATE_LIMITED") {
      this.#interval += SLOW_DOWN;
      // The gateway has answered: a screen that was offline is not any more.
      this.#set({ phase: "waiting", code, trouble: null });
      this.#after(Math.max(error.retryAfter ?? 0, this.#interval) * SECOND);
    } else if (!isTemporary(error) || this.#isOver(code)) {
      this.#expire();
    } else {
      this.#fail(error);
    }
  }

  /**
   * Return whether the code has expired by the clock of the page. A response has just set it.
   * @param {OpenCode} code
   */
  #isOver({ expiresAt }) {
    return this.#tools.now() >= expiresAt;
  }

  #expire() {
    this.#set({ phase: "expired", code: null, trouble: null });
  }

  /** @param {PairingState} state */
  #succeed(state) {
    this.#failures = 0;
    this.#set(state);
  }

  /**
   * Say why there is no progress, and repeat the request later.
   * @param {GatewayError} error
   */
  #fail(error) {
    const { now, random } = this.#tools;
    const limited = error.code === "RATE_LIMITED";
    const backoff = SECOND + waitingTime(backoffDelay(this.#failures), random?.());
    const delay = limited ? Math.max((error.retryAfter ?? 0) * SECOND, SECOND) : backoff;
    this.#failures += 1;
    const kind = error.unreachable ? "offline" : limited ? "limited" : "unavailable";
    const { phase, code } = this.#state ?? { phase: "starting", code: null };
    this.#set({ phase, code, trouble: { kind, retryAt: now() + delay } });
    this.#after(delay);
  }

  /** Poll after the interval, and at the latest when the code expires. */
  #pollLater() {
    const code = this.#state?.code;
    const left = code ? timeLeft(code, this.#tools.now()) : 0;
    this.#after(Math.max(SECOND, Math.min(this.#interval * SECOND, left)));
  }

  /**
   * Send the next request later.
   * @param {number} delay
   */
  #after(delay) {
    this.#tools.timers.schedule(delay, TIMER, () => (this.#state?.code ? this.#poll() : this.#start()));
  }

  /** @param {PairingState} state */
  #set(state) {
    this.#state = state;
    this.#handlers.onChange(state);
  }
}

/**
 * Return whether the same request may succeed later. A response without a code is that of a proxy.
 * @param {GatewayError} error
 */
function isTemporary({ code }) {
  return code === undefined || TEMPORARY_CODES.has(code);
}
