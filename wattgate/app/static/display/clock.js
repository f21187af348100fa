/**
 * The time as the gateway tells it. A wall display's own clock may be minutes out, and with it the age of a reading
 * would be wrong; so the clock is set by the Date header of the gateway's answers.
 */

/** The Date header counts whole seconds and may be cached for one: less than this is no error of the clock. */
const TOLERANCE = 3000;

let correction = 0;

export function now() {
  return Date.now() + correction;
}

export function setByHeader(date) {
  const difference = Date.parse(date) - Date.now();
  if (Number.isNaN(difference)) return;
  correction = Math.abs(difference) > TOLERANCE ? difference : 0;
}
