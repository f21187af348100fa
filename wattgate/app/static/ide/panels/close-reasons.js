/** Why a connection was closed and what happens next, in words. */

import { CLOSE_CODES } from "../../shared/close-codes.js";
import { reactionTo } from "../../shared/reconnect.js";

/** @type {Readonly<Record<number, string>>} */
const REASONS = Object.freeze({
  1000: "The connection was closed as requested.",
  1001: "The gateway or the page went away.",
  1002: "The page and the gateway, or a proxy in between, do not follow the same protocol.",
  1003: "The gateway does not accept messages of this kind.",
  1006: "The link was cut without a message.",
  1007: "A message was not valid text.",
  1009: "A message was larger than 64 KiB. Move long values from the document into variables.",
  1010: "The gateway lacks an extension that the page needs.",
  1012: "The gateway restarts.",
  4400: "The gateway did not understand a message.",
  4401: "A subscription was sent before the gateway had accepted the connection.",
  4403: "The credentials are missing, invalid, expired or revoked.",
  4406: "The gateway does not speak the protocol of this page.",
  4408: "The credentials did not arrive in time.",
  4409: "The connection has a subscription with this ID already.",
  4429: "The credentials were sent twice.",
  4503: "The gateway shuts down, has failed, or too many connections log in at once.",
  4508: "This page did not read its messages in time.",
  4509: "Newer connections of the same account or application replaced this one.",
  4510: "This page sent too many messages.",
  4511: "A limit of the caller or of its network address is used up.",
});

/** @type {Readonly<Record<import("../../shared/reconnect.js").Reaction["action"], string>>} */
const NEXT = Object.freeze({
  stop: "Another attempt would fail too.",
  renewToken: "Log in again to continue.",
  backOff: "The page connects again.",
  wait: "The page waits, and connects again.",
});

/**
 * Return why a connection was closed, and what happens next.
 * @param {number} code
 * @returns {string}
 */
export function explainClose(code) {
  const known = CLOSE_CODES[code];
  const reason = REASONS[code] ?? "The connection was closed.";
  const name = known ? `${code} ${known.name}` : String(code);
  return `${reason} ${NEXT[reactionTo(code).action]} (${name})`;
}
