/**
 * The time as the gateway tells it. A wall display's own clock may be minutes out, and with it the age of a reading
 * would be wrong.
 */

/** The Date header counts whole seconds and may be cached for one: less than this is no error of the clock. */
const HEADER_TOLERANCE = 3000;
const JUMP_THRESHOLD = 5000;

let anchor = anchorAt(Date.now());
let wallOffset = Date.now() - performance.now();

/** Milliseconds since 1970. What cannot be told apart counts as later: an old reading must not pass for a new one. */
export function now() {
  return anchor.gateway + Math.max(performance.now() - anchor.steady, Date.now() - anchor.wall);
}

/** Set the clock by what the gateway has answered to a question just asked. */
export function setTime(instant) {
  anchor = anchorAt(instant);
}

/** Learn that it is at least so late: what the gateway says unasked may have been on its way for a while. */
export function advanceTo(instant) {
  if (instant > now()) setTime(instant);
}

export function setFromDateHeader(date) {
  const instant = Date.parse(date);
  if (Math.abs(instant - now()) > HEADER_TOLERANCE) setTime(instant);
}

/** Whether the device has slept, or its clock was set, since this was asked last. */
export function detectJump() {
  const previous = wallOffset;
  wallOffset = Date.now() - performance.now();
  return Math.abs(wallOffset - previous) > JUMP_THRESHOLD;
}

function anchorAt(gateway) {
  return { gateway, steady: performance.now(), wall: Date.now() };
}
