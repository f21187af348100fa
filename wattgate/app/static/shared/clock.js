/**
 * The time as the gateway tells it. A wall display's own clock may be minutes out, and with it the age of a reading
 * would be wrong.
 */

/** The Date header counts whole seconds and may be cached for one: less than this is no error of the clock. */
const TOLERANCE = 3000;
const JUMP = 5000;

let known = anchoredAt(Date.now());
let lag = Date.now() - performance.now();

/** Milliseconds since 1970. What cannot be told apart counts as later: an old reading must not pass for a new one. */
export function now() {
  return known.gateway + Math.max(performance.now() - known.steady, Date.now() - known.wall);
}

/** Set the clock by what the gateway has answered to a question just asked. */
export function set(instant) {
  known = anchoredAt(instant);
}

/** Learn that it is at least so late: what the gateway says unasked may have been on its way for a while. */
export function atLeast(instant) {
  if (instant > now()) set(instant);
}

export function setByHeader(date) {
  const instant = Date.parse(date);
  if (Math.abs(instant - now()) > TOLERANCE) set(instant);
}

/** Whether the device has slept, or its clock was set, since this was asked last. */
export function jumped() {
  const before = lag;
  lag = Date.now() - performance.now();
  return Math.abs(lag - before) > JUMP;
}

function anchoredAt(gateway) {
  return { gateway, steady: performance.now(), wall: Date.now() };
}
