/**
 * One subscription over a WebSocket (the graphql-transport-ws protocol), which reconnects after every failure. The
 * first payload of each connection is the whole state, so the client has no position to resume from.
 */

import { backoffDelay, reactionTo, waitingTime } from "./reconnect.js";

/** @import { Delay } from "./reconnect.js" */
/** @import { TimerQueue } from "./timer-queue.js" */

/** @typedef {"connecting" | "live" | "reconnecting" | "offline" | "displaced" | "outdated" | "withheld"} ConnectionState */
/** @typedef {{ query: string, variables: Record<string, unknown> }} SubscriptionRequest */

/**
 * A GraphQL error of the gateway.
 * @typedef {{ extensions?: { code?: string, retryable?: boolean } }} ReceivedError
 */

/**
 * @typedef {object} ConnectionHandlers
 * @property {(data: any, first: boolean) => void} onFrame
 *   Called with each payload's data, and whether it is the first of its connection.
 * @property {(state: ConnectionState) => void} onState
 * @property {() => void} onTokenNeeded
 *   Called when the token has expired or was rejected. Get a new one and pass it to `sendToken`.
 * @property {(code: string | undefined) => void} onRejected
 *   Called with the error code when the gateway rejects the subscription. The connection does not try again.
 */

const ACKNOWLEDGEMENT_TIMEOUT = 10_000;
/** The gateway sends a ping every 20 seconds. */
const SILENCE_TIMEOUT = 30_000;
const PONG_TIMEOUT = 10_000;

export class Connection {
  /** @type {TimerQueue} */
  #timers;
  /** @type {() => string} */
  #getToken;
  /** @type {ConnectionHandlers} */
  #handlers;
  /** @type {SubscriptionRequest | null} */
  #request = null;
  /** @type {WebSocket | null} */
  #socket = null;
  /** @type {ConnectionState | null} */
  #state = null;
  #failures = 0;
  #awaitingFirst = false;
  #needsToken = false;

  /**
   * @param {TimerQueue} timers  The connection uses the name "connection" in it.
   * @param {() => string} getToken  Called for every new connection, because tokens are renewed.
   * @param {ConnectionHandlers} handlers
   */
  constructor(timers, getToken, handlers) {
    this.#timers = timers;
    this.#getToken = getToken;
    this.#handlers = handlers;
    window.addEventListener("online", () => this.#onOnline());
    window.addEventListener("offline", () => this.#onOffline());
  }

  /** Whether a payload has arrived on the current connection. */
  get isLive() {
    return this.#state === "live";
  }

  /**
   * Subscribe. A subscription that is already open is replaced.
   * @param {string} query
   * @param {Record<string, unknown>} variables
   */
  open(query, variables) {
    this.#request = { query, variables };
    this.#failures = 0;
    this.#setState("connecting");
    this.reconnect();
  }

  /** End the subscription. */
  close() {
    this.#request = this.#state = null;
    this.#closeSocket();
  }

  /** Close the current connection, if there is one, and open a new one immediately. */
  reconnect() {
    this.#closeSocket();
    if (!this.#request) return;
    this.#needsToken = false;
    const url = new URL("/graphql", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = (this.#socket = new WebSocket(url, "graphql-transport-ws"));
    socket.onopen = () => this.#send({ type: "connection_init", payload: { token: this.#getToken() } });
    socket.onmessage = (event) => this.#receive(JSON.parse(event.data));
    socket.onclose = (event) => this.#onClosed(event.code);
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
    const socket = this.#socket;
    this.#socket = null;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  /** @param {number} code */
  #onClosed(code) {
    const reaction = reactionTo(code);
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
        this.#send({ id: "1", type: "subscribe", payload: this.#request });
        this.#wait(ACKNOWLEDGEMENT_TIMEOUT, () => this.reconnectWithBackoff());
        return;
      case "next":
        if (message.payload.errors) this.#onErrors(message.payload.errors);
        else this.#onData(message.payload.data);
        return;
      case "error":
        this.#onErrors(message.payload);
        return;
      case "complete":
        this.reconnectWithBackoff();
        return;
      case "ping":
        this.#send({ type: "pong" });
        if (message.payload?.expired) this.#handlers.onTokenNeeded();
    }
    if (this.isLive) this.#restartSilenceTimer();
  }

  /** @param {any} data */
  #onData(data) {
    // Only a payload resets the backoff: a connection may be acknowledged and fail again.
    this.#failures = 0;
    const first = this.#awaitingFirst;
    this.#awaitingFirst = false;
    this.#setState("live");
    this.#restartSilenceTimer();
    this.#handlers.onFrame(data, first);
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
      this.#handlers.onRejected(code);
    }
  }

  #restartSilenceTimer() {
    this.#wait(SILENCE_TIMEOUT, () => this.#probe());
  }

  /** Send a ping, and reconnect if nothing arrives after it. */
  #probe() {
    this.#send({ type: "ping" });
    this.#wait(PONG_TIMEOUT, () => this.reconnectWithBackoff());
  }

  #onOnline() {
    if (!this.#request || this.isLive) return;
    this.#failures = 0;
    this.reconnect();
  }

  #onOffline() {
    // The browser may be wrong: a gateway on the same machine or network may still respond.
    if (this.isLive) this.#probe();
    else if (this.#request) this.#setState("offline");
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
