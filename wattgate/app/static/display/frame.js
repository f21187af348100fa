/** The valid parts of a frame of the `display` subscription at a later instant. */

/** @import { Carbon, Frame, FreshnessCause, FreshnessState } from "./subscription.js" */

/**
 * The link to the gateway: whether it is open, and the milliseconds since the last message.
 * @typedef {{ connected: boolean, silence: number }} Link
 */

/**
 * The freshness of the readings. `asOf` is in milliseconds since 1970. The cause CONNECTION is this page's own.
 * @typedef {{ state: FreshnessState, asOf: number | null, cause: FreshnessCause | "CONNECTION" | null }} Freshness
 */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** The page checks the time once a second. It blanks one second early rather than late. */
const CHECK_INTERVAL = SECOND;
/** @type {FreshnessState[]} */
const STATES = ["LIVE", "DELAYED", "STALE", "OFFLINE"];
/**
 * The age at which each state but the last one ends: that many expected intervals, but at least the minimum. The
 * gateway uses the same limits.
 */
const LIMITS = [
  { intervals: 2, minimum: 30 * SECOND },
  { intervals: 4, minimum: 2 * MINUTE },
  { intervals: 8, minimum: 15 * MINUTE },
];

/**
 * Return the freshness at an instant. The gateway reports every change of it, but readings also age while the
 * connection is lost.
 * @param {Frame} frame
 * @param {number} now
 * @param {Link} link
 * @returns {Freshness}
 */
export function freshnessAt(frame, now, { connected, silence }) {
  const { state, asOf, expectedEverySeconds, cause } = frame.freshness;
  const time = asOf === null ? null : Date.parse(asOf);
  const aged = time === null ? "OFFLINE" : stateAt(now - time, expectedEverySeconds * SECOND);
  return { state: worse(state, aged), asOf: time, cause: connected && !isLinkLost(frame, silence) ? cause : "CONNECTION" };
}

/**
 * Return whether the link to the gateway is lost, so that the power that it brought is no longer live.
 * @param {Frame} frame
 * @param {number} silence  Milliseconds since the last message of the gateway.
 * @returns {boolean}
 */
function isLinkLost({ linkTimeoutSeconds }, silence) {
  return silence >= linkTimeoutSeconds * SECOND - CHECK_INTERVAL;
}

/**
 * Return the power in watts and its time, or null if there is none, if it is too old to be shown as current, or if the
 * link is lost.
 * @param {Frame} frame
 * @param {number} now
 * @param {Link} link
 * @returns {{ net: number, at: number } | null}
 */
export function currentPower(frame, now, { silence }) {
  if (!frame.power || isLinkLost(frame, silence)) return null;
  const { net, at, validUntil } = frame.power;
  return now < Date.parse(validUntil) ? { net: net.value, at: Date.parse(at) } : null;
}

/**
 * Return the carbon intensity, or null if there is none, or if it is too old to be shown as current. It holds for half
 * hours, so it does not end with the link.
 * @param {Pick<Frame, "carbon">} frame
 * @param {number} now
 * @returns {Carbon | null}
 */
export function currentCarbon({ carbon }, now) {
  return carbon && now < Date.parse(carbon.validUntil) ? carbon : null;
}

/**
 * Return the powers in watts between which the medium level lies, or null if the levels are not of power.
 * @param {Frame} frame
 * @returns {[number, number] | null}
 */
export function levelBounds({ ambient }) {
  const levels = ambient?.powerLevels;
  return levels ? [levels.lowBelow.value, levels.highFrom.value] : null;
}

/**
 * @param {number} age
 * @param {number} interval
 * @returns {FreshnessState}
 */
function stateAt(age, interval) {
  const index = LIMITS.findIndex(({ intervals, minimum }) => age < Math.max(intervals * interval, minimum));
  return index < 0 ? "OFFLINE" : STATES[index];
}

/**
 * @param {FreshnessState} one
 * @param {FreshnessState} other
 * @returns {FreshnessState}
 */
function worse(one, other) {
  return STATES[Math.max(STATES.indexOf(one), STATES.indexOf(other))];
}
