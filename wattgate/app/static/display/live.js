/** Live readings over a WebSocket (the graphql-transport-ws protocol), connected again whenever it breaks. */

const SUBSCRIPTION = `subscription Live($ids: [ID!]!) {
  readings(resourceIds: $ids) { resourceId field unit at value }
}`;

const ACKNOWLEDGEMENT_WAIT = 10_000;
const SILENCE = 30_000;
const PONG_WAIT = 10_000;
const FIRST_DELAY = 1000;
const LONGEST_DELAY = 30_000;
const DENIED = new Set([4401, 4403]);

export class LiveReadings {
  #resourceIds;
  #token;
  #handlers;
  #socket = null;
  #state = null;
  #timer = 0;
  #failures = 0;
  #socketEvents = new AbortController();
  #windowEvents = new AbortController();

  /**
   * `token` is asked anew for every connection, because tokens are renewed. The handlers are `reading(reading)`,
   * `state("connecting" | "live" | "reconnecting" | "offline")`, `ready()` at each subscription, and `denied()`.
   */
  constructor(resourceIds, token, handlers) {
    this.#resourceIds = resourceIds;
    this.#token = token;
    this.#handlers = handlers;
  }

  start() {
    const { signal } = this.#windowEvents;
    window.addEventListener("online", () => this.#networkIsBack(), { signal });
    window.addEventListener("offline", () => this.#networkIsLost(), { signal });
    this.#enter("connecting");
    this.#connect();
  }

  stop() {
    this.#windowEvents.abort();
    this.#drop();
  }

  #connect() {
    this.#drop();
    const { signal } = (this.#socketEvents = new AbortController());
    const url = new URL("/graphql", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = (this.#socket = new WebSocket(url, "graphql-transport-ws"));
    socket.addEventListener(
      "open",
      () => this.#send({ type: "connection_init", payload: { token: this.#token() } }),
      { signal },
    );
    socket.addEventListener("message", (event) => this.#receive(JSON.parse(event.data)), { signal });
    socket.addEventListener("close", (event) => this.#closed(event.code), { signal });
    this.#wait(ACKNOWLEDGEMENT_WAIT, () => this.#connectLater());
  }

  #drop() {
    clearTimeout(this.#timer);
    this.#socketEvents.abort();
    this.#socket?.close();
    this.#socket = null;
  }

  #closed(code) {
    if (DENIED.has(code)) this.#deny();
    else this.#connectLater();
  }

  /** Exponential backoff with full jitter: when a gateway restarts, its displays must not all come back at once. */
  #connectLater() {
    this.#drop();
    this.#enter(navigator.onLine ? "reconnecting" : "offline");
    const longest = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** this.#failures);
    this.#failures += 1;
    this.#wait(Math.random() * longest, () => this.#connect());
  }

  #receive(message) {
    const handle = {
      connection_ack: () => this.#subscribe(),
      next: () => this.#deliver(message.payload),
      error: () => this.#refused(message.payload),
      complete: () => this.#connectLater(),
      ping: () => this.#send({ type: "pong" }),
    }[message.type];
    if (message.type !== "error" && message.type !== "complete") this.#heard();
    handle?.();
  }

  #subscribe() {
    this.#send({ id: "1", type: "subscribe", payload: { query: SUBSCRIPTION, variables: { ids: this.#resourceIds } } });
    this.#handlers.ready();
  }

  #deliver({ data, errors }) {
    if (errors) this.#refused(errors);
    else {
      // Only a reading proves the connection: one that is acknowledged and breaks again goes on backing off.
      this.#failures = 0;
      this.#handlers.reading(data.readings);
    }
  }

  #refused(errors) {
    if (errors.some((error) => error.extensions?.code === "UNAUTHENTICATED")) this.#deny();
    else this.#connectLater();
  }

  #deny() {
    this.stop();
    this.#handlers.denied();
  }

  #heard() {
    this.#enter("live");
    this.#wait(SILENCE, () => this.#probe());
  }

  #probe() {
    this.#send({ type: "ping" });
    this.#wait(PONG_WAIT, () => this.#connectLater());
  }

  #networkIsBack() {
    if (this.#state === "live") return;
    this.#failures = 0;
    this.#connect();
  }

  #networkIsLost() {
    this.#enter("offline");
    // The browser may be wrong: a gateway on the same machine or network still answers.
    if (this.#socket?.readyState === WebSocket.OPEN) this.#probe();
  }

  #send(message) {
    this.#socket.send(JSON.stringify(message));
  }

  /** There is only ever one thing to wait for, so there is only one timer. */
  #wait(delay, then) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(then, delay);
  }

  #enter(state) {
    if (state === this.#state) return;
    this.#state = state;
    this.#handlers.state(state);
  }
}
