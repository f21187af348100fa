/** The subscription over a WebSocket. The test is the gateway: it sends the messages of the protocol. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";

import { Connection } from "../../wattgate/app/static/shared/connection.js";
import { TimerQueue } from "../../wattgate/app/static/shared/timer-queue.js";

/** @type {GatewaySocket[]} */
const sockets = [];

/** The WebSocket of a browser, whose other end is the test. */
class GatewaySocket {
  static OPEN = 1;
  readyState = GatewaySocket.OPEN;
  /** @type {string[]} */
  sent = [];
  onmessage = null;

  constructor() {
    sockets.push(this);
  }

  send(message) {
    this.sent.push(JSON.parse(message).type);
  }

  close() {}

  receive(message) {
    this.onmessage({ data: JSON.stringify(message) });
  }
}

Object.assign(globalThis, { WebSocket: GatewaySocket, window: new EventTarget(), location: { href: "http://gateway/" } });

describe("credentials for which the gateway has no time", () => {
  const timers = new TimerQueue();
  const called = [];
  const handlers = {
    onPayload: () => false,
    onState: (state) => called.push(state),
    onTokenNeeded: () => called.push("token"),
    onRejected: () => called.push("rejected"),
  };
  const connection = new Connection(timers, () => ({ token: "valid" }), handlers);
  after(() => {
    connection.close();
    sockets.length = 0;
  });

  test("are kept after a close, and no new token is needed", () => {
    connection.open(() => ({ query: "subscription { display }", variables: {} }));
    sockets[0].onclose({ code: 4511, reason: "Retry in 40 s." });
    assert.deepEqual(called, ["connecting", navigator.onLine ? "reconnecting" : "offline"]);
    timers.runNow("connection");
    assert.equal(sockets.length, 2);
  });

  test("are sent again on an open connection", () => {
    const socket = sockets[1];
    socket.receive({ type: "connection_ack" });
    socket.receive({ id: "1", type: "next", payload: { data: {} } });
    connection.sendToken("valid");
    socket.receive({ type: "pong", payload: { expiresAt: null, errors: [{ extensions: { code: "RATE_LIMITED", retryAfter: 40 } }] } });
    assert.deepEqual(socket.sent, ["subscribe", "ping"]);
    timers.runNow("credentials");
    assert.deepEqual(socket.sent, ["subscribe", "ping", "ping"]);
    socket.receive({ type: "pong", payload: { expiresAt: null } });
    timers.runNow("credentials");
    assert.deepEqual(socket.sent, ["subscribe", "ping", "ping"]);
    assert.deepEqual(called.slice(2), ["live"]);
  });
});

describe("the silence of a connection", () => {
  const timers = new TimerQueue();
  const handlers = { onPayload: () => false, onState: () => {}, onTokenNeeded: () => {}, onRejected: () => {} };
  const connection = new Connection(timers, () => ({}), handlers);
  after(() => connection.close());

  test("ends with a message of a live subscription, not with an acknowledgement", () => {
    connection.open(() => ({ query: "subscription { display }", variables: {} }));
    const [socket] = sockets;
    socket.receive({ type: "connection_ack" });
    assert.deepEqual(socket.sent, ["subscribe"]);
    assert.equal(connection.silence, Infinity);
    socket.receive({ type: "ping" });
    assert.equal(connection.silence, Infinity);
    socket.receive({ id: "1", type: "next", payload: { data: {} } });
    assert.ok(connection.isLive && Number.isFinite(connection.silence));
  });

  test("lasts while a new connection has no frame", () => {
    const start = performance.now();
    while (performance.now() - start < 5);
    const before = connection.silence;
    connection.reconnectWithBackoff();
    connection.reconnect();
    sockets[1].receive({ type: "connection_ack" });
    assert.ok(connection.silence >= before);
  });
});

describe("a connection without a subscription", () => {
  test("does not cancel what its owner waits for", () => {
    const timers = new TimerQueue();
    const handlers = { onPayload: () => false, onState: () => {}, onTokenNeeded: () => {}, onRejected: () => {} };
    const connection = new Connection(timers, () => ({}), handlers);
    timers.schedule(60_000, "connection", () => {});
    connection.reconnect();
    assert.equal(timers.size, 1);
    timers.clear();
  });
});
