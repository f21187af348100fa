/** Texts of the pairing page that depend on values: errors, the name to begin with, and when a display was last seen. */

import { formatCountdown } from "../display/format.js";
import { currentLocale, text } from "../display/texts.js";

/** @import { GatewayError } from "../shared/gateway.js" */

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** @type {import("../display/texts.js").TextKey[]} */
export const SUGGESTED_ROOMS = ["pair.kitchen", "pair.hall", "pair.livingRoom"];

/**
 * Return the message after a failed request.
 * @param {GatewayError} error
 * @returns {string}
 */
export function explainPairingError({ code, retryAfter, unreachable }) {
  if (unreachable) return text("pair.offline");
  if (code === "NOT_FOUND") return text("pair.unknown");
  if (code === "RATE_LIMITED") return text("pair.limited", { time: formatCountdown((retryAfter ?? 60) * 1000) });
  return code === "QUOTA_EXCEEDED" ? text("pair.quota") : text("pair.failed");
}

/**
 * Return the name to offer for a new display: the one that it gave itself, else the first room without a display.
 * @param {string} own
 * @param {string[]} taken  Names of the paired displays.
 * @returns {string}
 */
export function firstName(own, taken) {
  const rooms = SUGGESTED_ROOMS.map((key) => text(key));
  return own.trim() || (rooms.find((room) => !taken.includes(room)) ?? "");
}

/**
 * Return when a display was last seen, in words.
 * @param {string} instant
 * @param {number} now  Milliseconds since 1970.
 * @returns {string}
 */
export function formatLastSeen(instant, now) {
  const ago = Math.max(0, now - Date.parse(instant));
  const format = new Intl.RelativeTimeFormat(currentLocale(), { numeric: "auto" });
  const [count, unit] = ago < DAY ? [ago / HOUR, /** @type {const} */ ("hour")] : [ago / DAY, /** @type {const} */ ("day")];
  return text("pair.seen", { when: format.format(-Math.floor(count), unit) });
}
