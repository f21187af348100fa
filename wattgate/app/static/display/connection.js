/**
 * One subscription over a WebSocket (the graphql-transport-ws protocol), made again whenever it breaks. Every first
 * payload of this subscription is the whole state, so whoever comes back goes on from there.
 */

const ACKNOWLEDGEMENT_TIMEOUT = 10_000;
/** The gateway sends a ping every 20 seconds. */
const SILENCE_TIMEOUT = 30_000;
const PONG_TIMEOUT = 10_000;
const BASE_DELAY = 1000;
const MAX_DELAY = 30_000;

const FORBIDDEN = 4403;
/** How long to stay away after a close code: `minimum` and a random part of `spread`, in milliseconds. */
const RECONNECT_DELAYS = {
  4503: { minimum: 0, spread: 5000, state: "reconnecting" },
  4508: { minimum: 0, spread: 2000, state: "reconnecting" },
  4509: { minimum: 30_000, spread: 30_000, state: "displaced" },
  4510: { minimum: 30_000, spread: 30_000, state: "displaced" },
};
/** The gateway does not understand this page, or the other way round: trying again does not mend that. */
const FATAL_CODES = new Set([1002, 1003, 1007, 1009, 1010, 4400, 4401, 4406, 4409, 4429]);

export class Connection {
  #timers;
  #getToken;
  #handlers;
  #request = null;
  #socket = null;
  #state = null;
  #failures = 0;
  #awaitingFirst = false;
  #needsToken = false;

  /**
   * `getToken` is called anew for every connection, because tokens are renewed. The handlers are `onFrame(data, first)`,
   * `onState(state)` (connecting, live, reconnecting, offline, displaced or outdated), `onTokenNeeded()` when another token
   * is needed, and `onRejected(code)` when the gateway refuses this subscription.
   */
  constructor(timers, getToken, handlers) {
    this.#timers = timers;
    this.#getToken = getToken;
    this.#handlers = handlers;
    window.addEventListener("online", () => this.#onOnline());
    window.addEventListener("offline", () => this.#onOffline());
  }

  get isLive() {
    return this.#state === "live";
  }

  open(query, variables) {
    this.#request = { query, variables };
    this.#failures = 0;
    this.#setState("connecting");
    this.reconnect();
  }

  close() {
    this.#request = this.#state = null;
    this.#closeSocket();
  }

  /** Connect now, whatever was before. */
  reconnect() {
    this.#closeSocket();
    if (!this.#request) return;
    this.#needsToken = false;
    const url = new URL("/graphql", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = (this.#socket = new WebSocket(url, "graphql-transport-ws"));
    socket.onopen = () => this.#send({ type: "connection_init", payload: { token: this.#getToken() } });
    socket.onmessage = (event) => this.#receive(JSON.parse(event.data));
    socket.onclose = (event) => this.#closed(event.code);
    this.#wait(ACKNOWLEDGEMENT_TIMEOUT, () => this.reconnectWithBackoff());
  }

  /** Exponential backoff with full jitter: when a gateway restarts, its displays must not all come back at once. */
  reconnectWithBackoff() {
    const spread = Math.min(MAX_DELAY, BASE_DELAY * 2 ** this.#failures);
    this.#failures += 1;
    this.#pause({ minimum: 0, spread, state: "reconnecting" });
  }

  /** There is a further token: tell it over the connection that stands, or come back with it. */
  sendToken(token) {
    if (this.isLive) this.#send({ type: "ping", payload: { token } });
    else if (this.#needsToken) this.reconnectWithBackoff();
  }

  #pause({ minimum, spread, state }) {
    this.#closeSocket();
    this.#setState(navigator.onLine ? state : "offline");
    this.#wait(minimum + Math.random() * spread, () => this.reconnect());
  }

  #closeSocket() {
    this.#timers.cancel("connection");
    const socket = this.#socket;
    this.#socket = null;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  #closed(code) {
    if (code === FORBIDDEN) this.#rejected([{ extensions: { code: "UNAUTHENTICATED" } }]);
    else if (FATAL_CODES.has(code)) this.#rejected([{}]);
    else if (code in RECONNECT_DELAYS) this.#pause(RECONNECT_DELAYS[code]);
    else this.reconnectWithBackoff();
  }

  #receive(message) {
    switch (message.type) {
      case "connection_ack":
        this.#awaitingFirst = true;
        this.#send({ id: "1", type: "subscribe", payload: this.#request });
        return this.#wait(ACKNOWLEDGEMENT_TIMEOUT, () => this.reconnectWithBackoff());
      case "next":
        return message.payload.errors ? this.#rejected(message.payload.errors) : this.#receiveData(message.payload.data);
      case "error":
        return this.#rejected(message.payload);
      case "complete":
        return this.reconnectWithBackoff();
      case "ping":
        this.#send({ type: "pong" });
        if (message.payload?.expired) this.#handlers.onTokenNeeded();
    }
    if (this.isLive) this.#restartSilenceTimer();
  }

  #receiveData(data) {
    // Only a frame proves the connection: one that is acknowledged and breaks again goes on backing off.
    this.#failures = 0;
    const first = this.#awaitingFirst;
    this.#awaitingFirst = false;
    this.#setState("live");
    this.#restartSilenceTimer();
    this.#handlers.onFrame(data, first);
  }

  #rejected(errors) {
    const { code, retryable } = errors[0].extensions ?? {};
    if (retryable) return this.reconnectWithBackoff();
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
    // The browser may be wrong: a gateway on the same machine or network still answers.
    if (this.isLive) this.#probe();
    else if (this.#request) this.#setState("offline");
  }

  #send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  /** There is only ever one thing to wait for. */
  #wait(delay, callback) {
    this.#timers.schedule(delay, "connection", callback);
  }

  #setState(state) {
    if (state === this.#state) return;
    this.#state = state;
    this.#handlers.onState(state);
  }
}
