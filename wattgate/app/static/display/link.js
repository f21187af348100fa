/**
 * One subscription over a WebSocket (the graphql-transport-ws protocol), made again whenever it breaks. Every first
 * payload of this subscription is the whole state, so whoever comes back goes on from there.
 */

const ACKNOWLEDGEMENT_WAIT = 10_000;
/** The gateway sends a ping every 20 seconds. */
const SILENCE = 30_000;
const PONG_WAIT = 10_000;
const FIRST_DELAY = 1000;
const LONGEST_DELAY = 30_000;

const FORBIDDEN = 4403;
/** How long to stay away after a close code: `least` and a random part of `spread`, in milliseconds. */
const PAUSES = {
  4503: { least: 0, spread: 5000, state: "reconnecting" },
  4508: { least: 0, spread: 2000, state: "reconnecting" },
  4509: { least: 30_000, spread: 30_000, state: "displaced" },
  4510: { least: 30_000, spread: 30_000, state: "displaced" },
};
/** The gateway does not understand this page, or the other way round: trying again does not mend that. */
const FAULTS = new Set([1002, 1003, 1007, 1009, 1010, 4400, 4401, 4406, 4409, 4429]);

export class Link {
  #agenda;
  #token;
  #on;
  #request = null;
  #socket = null;
  #state = null;
  #failures = 0;
  #asked = false;
  #barred = false;

  /**
   * `token` is asked anew for every connection, because tokens are renewed. The handlers are `frame(data, first)`,
   * `state(state)` (connecting, live, reconnecting, offline, displaced or outdated), `tokenNeeded()` when another token
   * is needed, and `gone(code)` when the gateway refuses this subscription.
   */
  constructor(agenda, token, handlers) {
    this.#agenda = agenda;
    this.#token = token;
    this.#on = handlers;
    window.addEventListener("online", () => this.#networkIsBack());
    window.addEventListener("offline", () => this.#networkIsLost());
  }

  get live() {
    return this.#state === "live";
  }

  open(query, variables) {
    this.#request = { query, variables };
    this.#failures = 0;
    this.#enter("connecting");
    this.connect();
  }

  close() {
    this.#request = this.#state = null;
    this.#drop();
  }

  /** Connect now, whatever was before. */
  connect() {
    this.#drop();
    if (!this.#request) return;
    this.#barred = false;
    const url = new URL("/graphql", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = (this.#socket = new WebSocket(url, "graphql-transport-ws"));
    socket.onopen = () => this.#send({ type: "connection_init", payload: { token: this.#token() } });
    socket.onmessage = (event) => this.#receive(JSON.parse(event.data));
    socket.onclose = (event) => this.#closed(event.code);
    this.#wait(ACKNOWLEDGEMENT_WAIT, () => this.connectLater());
  }

  /** Exponential backoff with full jitter: when a gateway restarts, its displays must not all come back at once. */
  connectLater() {
    const spread = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** this.#failures);
    this.#failures += 1;
    this.#pause({ least: 0, spread, state: "reconnecting" });
  }

  /** There is a further token: tell it over the connection that stands, or come back with it. */
  present(token) {
    if (this.live) this.#send({ type: "ping", payload: { token } });
    else if (this.#barred) this.connectLater();
  }

  #pause({ least, spread, state }) {
    this.#drop();
    this.#enter(navigator.onLine ? state : "offline");
    this.#wait(least + Math.random() * spread, () => this.connect());
  }

  #drop() {
    this.#agenda.cancel("link");
    const socket = this.#socket;
    this.#socket = null;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  #closed(code) {
    if (code === FORBIDDEN) this.#refused([{ extensions: { code: "UNAUTHENTICATED" } }]);
    else if (FAULTS.has(code)) this.#refused([{}]);
    else if (code in PAUSES) this.#pause(PAUSES[code]);
    else this.connectLater();
  }

  #receive(message) {
    switch (message.type) {
      case "connection_ack":
        this.#asked = true;
        this.#send({ id: "1", type: "subscribe", payload: this.#request });
        return this.#wait(ACKNOWLEDGEMENT_WAIT, () => this.connectLater());
      case "next":
        return message.payload.errors ? this.#refused(message.payload.errors) : this.#deliver(message.payload.data);
      case "error":
        return this.#refused(message.payload);
      case "complete":
        return this.connectLater();
      case "ping":
        this.#send({ type: "pong" });
        if (message.payload?.expired) this.#on.tokenNeeded();
    }
    if (this.live) this.#heard();
  }

  #deliver(data) {
    // Only a frame proves the connection: one that is acknowledged and breaks again goes on backing off.
    this.#failures = 0;
    const first = this.#asked;
    this.#asked = false;
    this.#enter("live");
    this.#heard();
    this.#on.frame(data, first);
  }

  #refused(errors) {
    const { code, retryable } = errors[0].extensions ?? {};
    if (retryable) return this.connectLater();
    this.#drop();
    if (code === "UNAUTHENTICATED") {
      this.#barred = true;
      this.#enter("reconnecting");
      this.#on.tokenNeeded();
    } else {
      this.#enter("outdated");
      this.#on.gone(code);
    }
  }

  #heard() {
    this.#wait(SILENCE, () => this.#probe());
  }

  #probe() {
    this.#send({ type: "ping" });
    this.#wait(PONG_WAIT, () => this.connectLater());
  }

  #networkIsBack() {
    if (!this.#request || this.live) return;
    this.#failures = 0;
    this.connect();
  }

  #networkIsLost() {
    // The browser may be wrong: a gateway on the same machine or network still answers.
    if (this.live) this.#probe();
    else if (this.#request) this.#enter("offline");
  }

  #send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  /** There is only ever one thing to wait for. */
  #wait(delay, then) {
    this.#agenda.in(delay, "link", then);
  }

  #enter(state) {
    if (state === this.#state) return;
    this.#state = state;
    this.#on.state(state);
  }
}
