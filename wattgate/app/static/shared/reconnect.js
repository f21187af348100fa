/** When a connection is opened again after it has ended. */

import { CLOSE_CODES } from "./close-codes.js";

/**
 * A time to wait before the next connection: the minimum, plus a random part of the spread, in milliseconds. The state
 * is shown meanwhile.
 * @typedef {{ minimum: number, spread: number, state: "reconnecting" | "displaced" }} Delay
 */

/**
 * What to do after a close code.
 * @typedef {{ action: "stop" | "renewToken" | "backOff" } | { action: "wait", delay: Delay }} Reaction
 */

const BASE_DELAY = 1000;
const MAX_DELAY = 30_000;

/**
 * Close codes of the WebSocket protocol itself after which another attempt would fail too: the page and the gateway, or
 * a proxy in between, do not understand each other.
 */
const FATAL_PROTOCOL_CODES = new Set([1002, 1003, 1007, 1009, 1010]);

/** The reason of a close with the code RATE_LIMITED. */
const WAITING_REASON = /^Retry in (\d{1,5}) s\.$/;

/**
 * Return the delay after a number of failures in a row: exponential backoff with full jitter. When a gateway restarts,
 * its displays must not all reconnect at the same time.
 * @param {number} failures
 * @returns {Delay}
 */
export function backoffDelay(failures) {
  return { minimum: 0, spread: Math.min(MAX_DELAY, BASE_DELAY * 2 ** failures), state: "reconnecting" };
}

/**
 * Return what to do after a close code. An unknown code means backoff.
 * @param {number} code
 * @param {string} [reason]  The reason of the close, which may name the seconds to wait.
 * @returns {Reaction}
 */
export function reactionTo(code, reason = "") {
  if (FATAL_PROTOCOL_CODES.has(code)) return { action: "stop" };
  const known = CLOSE_CODES[code];
  if (known?.action !== "wait") return { action: known?.action ?? "backOff" };
  const { minimum, spread } = known;
  const state = minimum > 0 ? "displaced" : "reconnecting";
  const seconds = Number(WAITING_REASON.exec(reason)?.[1] ?? 0);
  return { action: "wait", delay: { minimum: minimum + 1000 * seconds, spread, state } };
}

/**
 * Return a random time to wait, in milliseconds.
 * @param {Delay} delay
 * @param {number} random  From 0 to 1.
 * @returns {number}
 */
export function waitingTime({ minimum, spread }, random = Math.random()) {
  return minimum + random * spread;
}
