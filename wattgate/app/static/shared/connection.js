/** One subscription over a WebSocket (the graphql-transport-ws protocol), which reconnects after every failure. */

import { backoffDelay, reactionTo, waitingTime } from "./reconnect.js";

/** @import { Delay } from "./reconnect.js" */
/** @import { TimerQueue } from "./timer-queue.js" */

/** @typedef {"connecting" | "live" | "reconnecting" | "offline" | "displaced" | "outdated" | "withheld"} ConnectionState */
/** @typedef {{ query: string, variables: Record<string, unknown>, operationName?: string }} SubscriptionRequest */

/**
 * A GraphQL error of the gateway.
 * @typedef {{ message?: string, extensions?: { code?: string, retryable?: boolean, retryAfter?: number } }} ReceivedError
 */

/** @typedef {{ data?: any, errors?: ReceivedError[], extensions?: { position?: string, recovered?: boolean } }} Payload */

/**
 * @typedef {object} ConnectionHandlers
 * @property {(payload: Payload, first: boolean) => boolean | void} onPayload
 *   Called with each payload, and whether it is the first of its connection. If it returns true, the errors of the
 *   payload are of the payload alone. Otherwise they end the subscription, as an error message does.
 * @property {(state: ConnectionState) => void} onState
 * @property {() => void} onTokenNeeded
 *   Called when the token has expired or was rejected. Get a new one and pass it to `sendToken`.
 * @property {(code: string | undefined, errors: ReceivedError[]) => void} onRejected
 *   Called with the error code when the gateway rejects the subscription. The connection does not try again.
 * @property {() => void} [onComplete]
 *   Called when the gateway has completed the subscription. Without it, the connection subscribes again.
 * @property {(code: number) => void} [onClosed]  Called with each close code, before the reaction to it.
 */

const ACKNOWLEDGEMENT_TIMEOUT = 10_000;
/** The gateway sends a ping every 20 seconds. A link without an answer to the probe is lost before 35 seconds. */
const SILENCE_TIMEOUT = 24_000;
const PONG_TIMEOUT = 10_000;

export class Connection {
  /** @type {TimerQueue} */
  #timers;
  /** @type {() => Record<string, string>} */
  #getCredentials;
  /** @type {ConnectionHandlers} */
  #handlers;
  /** @type {(() => SubscriptionRequest) | null} */
  #getRequest = null;
  /** @type {WebSocket | null} */
  #socket = null;
  /** @type {ConnectionState | null} */
  #state = null;
  #failures = 0;
  #awaitingFirst = false;
  #needsToken = false;
  #heardAt = -Infinity;

  /**
   * @param {TimerQueue} timers  The connection uses the names "connection" and "credentials" in it.
   * @param {() => Record<string, string>} getCredentials
   *   Returns the headers of the credentials. Called for every new connection, because tokens are renewed.
   * @param {ConnectionHandlers} handlers
   */
  constructor(timers, getCredentials, handlers) {
    this.#timers = timers;
    this.#getCredentials = getCredentials;
    this.#handlers = handlers;
    window.addEventListener("online", () => this.#onOnline());
    window.addEventListener("offline", () => this.#onOffline());
  }

  /** Whether a payload has arrived on the current connection. */
  get isLive() {
    return this.#state === "live";
  }

  /** Milliseconds since the last message of a live subscription. Infinite before the first one. */
  get silence() {
    return performance.now() - this.#heardAt;
  }

  /**
   * Subscribe. A subscription that is already open is replaced.
   * @param {() => SubscriptionRequest} getRequest
   *   Called for every new connection, so that the request can have the position of the last payload.
   */
  open(getRequest) {
    this.#getRequest = getRequest;
    this.#failures = 0;
    this.#setState("connecting");
    this.reconnect();
  }

  /** End the subscription. */
  close() {
    this.#getRequest = this.#state = null;
    this.#closeSocket();
  }

  /** Close the current connection, if there is one, and open a new one immediately. Do nothing without a subscription. */
  reconnect() {
    if (!this.#getRequest) return;
    this.#closeSocket();
    this.#needsToken = false;
    const url = new URL("/graphql", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = (this.#socket = new WebSocket(url, "graphql-transport-ws"));
    socket.onopen = () => this.#send({ type: "connection_init", payload: this.#getCredentials() });
    socket.onmessage = (event) => this.#receive(JSON.parse(event.data));
    socket.onclose = (event) => this.#onClosed(event.code, event.reason);
    this.#wait(ACKNOWLEDGEMENT_TIMEOUT, () => this.reconnectWithBackoff());
  }

  /** Close the current connection and open a new one after a delay that grows with each failure. */
  reconnectWithBackoff() {
    const delay = backoffDelay(this.#failures);
    this.#failures += 1;
    this.#reconnectAfter(delay);
  }

  /**
   * Send a new token over the live connection, or reconnect if a token was needed for that.
   * @param {string} token
   */
  sendToken(token) {
    if (this.isLive) this.#send({ type: "ping", payload: { token } });
    else if (this.#needsToken) this.reconnectWithBackoff();
  }

  /** @param {Delay} delay */
  #reconnectAfter(delay) {
    this.#closeSocket();
    this.#setState(navigator.onLine ? delay.state : "offline");
    this.#wait(waitingTime(delay), () => this.reconnect());
  }

  #closeSocket() {
    this.#timers.cancel("connection");
    this.#timers.cancel("credentials");
    const socket = this.#socket;
    this.#socket = null;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  /**
   * @param {number} code
   * @param {string} reason
   */
  #onClosed(code, reason) {
    this.#handlers.onClosed?.(code);
    const reaction = reactionTo(code, reason);
    if (reaction.action === "renewToken") this.#onErrors([{ extensions: { code: "UNAUTHENTICATED" } }]);
    else if (reaction.action === "stop") this.#onErrors([{}]);
    else if (reaction.action === "wait") this.#reconnectAfter(reaction.delay);
    else this.reconnectWithBackoff();
  }

  /** @param {{ type: string, payload?: any }} message */
  #receive(message) {
    switch (message.type) {
      case "connection_ack":
        this.#awaitingFirst = true;
        this.#send({ id: "1", type: "subscribe", payload: this.#getRequest?.() });
        this.#wait(ACKNOWLEDGEMENT_TIMEOUT, () => this.reconnectWithBackoff());
        return;
      case "next":
        this.#onPayload(message.payload);
        return;
      case "error":
        this.#onErrors(message.payload);
        return;
      case "complete":
        this.#onComplete();
        return;
      case "ping":
        this.#send({ type: "pong" });
        if (message.payload?.expired) this.#handlers.onTokenNeeded();
        break;
      case "pong":
        this.#onPong(message.payload);
    }
    if (this.isLive) this.#restartSilenceTimer();
  }

  /**
   * Send the credentials again later if the gateway has not looked at them, because a limit was used up.
   * @param {{ errors?: ReceivedError[] } | undefined} payload
   */
  #onPong(payload) {
    const seconds = payload?.errors?.[0].extensions?.retryAfter;
    if (seconds === undefined) return;
    this.#timers.schedule(1000 * (seconds + Math.random()), "credentials", () => {
      this.#send({ type: "ping", payload: this.#getCredentials() });
    });
  }

  /** @param {Payload} payload */
  #onPayload(payload) {
    const first = this.#awaitingFirst;
    if (payload.errors && !this.#handlers.onPayload(payload, first)) {
      this.#onErrors(payload.errors);
      return;
    }
    // Only a payload resets the backoff: a connection may be acknowledged and fail again.
    this.#failures = 0;
    this.#awaitingFirst = false;
    this.#setState("live");
    this.#restartSilenceTimer();
    if (!payload.errors) this.#handlers.onPayload(payload, first);
  }

  #onComplete() {
    if (!this.#handlers.onComplete) {
      this.reconnectWithBackoff();
      return;
    }
    this.close();
    this.#handlers.onComplete();
  }

  /** @param {ReceivedError[]} errors */
  #onErrors(errors) {
    const { code, retryable } = errors[0].extensions ?? {};
    if (retryable) {
      this.reconnectWithBackoff();
      return;
    }
    this.#closeSocket();
    if (code === "UNAUTHENTICATED") {
      this.#needsToken = true;
      this.#setState("reconnecting");
      this.#handlers.onTokenNeeded();
    } else {
      this.#setState("outdated");
      this.#handlers.onRejected(code, errors);
    }
  }

  /** Note that a live subscription has brought a message. An acknowledgement brings nothing that could be shown. */
  #restartSilenceTimer() {
    this.#heardAt = performance.now();
    this.#wait(SILENCE_TIMEOUT, () => this.#probe());
  }

  /** Send a ping, and reconnect if nothing arrives after it. */
  #probe() {
    this.#send({ type: "ping" });
    this.#wait(PONG_TIMEOUT, () => this.reconnectWithBackoff());
  }

  #onOnline() {
    if (!this.#getRequest || this.isLive) return;
    this.#failures = 0;
    this.reconnect();
  }

  #onOffline() {
    // The browser may be wrong: a gateway on the same machine or network may still respond.
    if (this.isLive) this.#probe();
    else if (this.#getRequest) this.#setState("offline");
  }

  /** @param {object} message */
  #send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  /**
   * Call a function later. It replaces the one that was waiting: the connection waits for one event at a time.
   * @param {number} delay
   * @param {() => void} callback
   */
  #wait(delay, callback) {
    this.#timers.schedule(delay, "connection", callback);
  }

  /** @param {ConnectionState} state */
  #setState(state) {
    if (state === this.#state) return;
    this.#state = state;
    this.#handlers.onState(state);
  }
}
