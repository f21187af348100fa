/** What a frame of the `display` subscription is still worth at a later instant. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const STATES = ["LIVE", "DELAYED", "STALE", "OFFLINE"];
/** After so many of the expected intervals, or after `minimum`, a state gives way to the next: as the gateway has it. */
const LIMITS = [
  { intervals: 2, minimum: 30 * SECOND },
  { intervals: 4, minimum: 2 * MINUTE },
  { intervals: 8, minimum: 15 * MINUTE },
];

/**
 * The freshness `{ state, asOf, cause }` at an instant. The gateway tells every change of it; but while nothing comes
 * from the gateway, time passes all the same. `connected` is whether it can be heard.
 */
export function freshnessAt(frame, now, connected) {
  const { state, asOf, expectedEverySeconds, cause } = frame.freshness;
  const time = asOf && Date.parse(asOf);
  const aged = asOf ? stateAt(now - time, expectedEverySeconds * SECOND) : "OFFLINE";
  return { state: worse(state, aged), asOf: time, cause: connected ? cause : "CONNECTION" };
}

/** The power `{ net, at }`, in watts, that may be shown as the power now, or null. */
export function currentPower(frame, now) {
  if (!frame.power) return null;
  const at = Date.parse(frame.power.at);
  const state = stateAt(now - at, frame.freshness.expectedEverySeconds * SECOND);
  return state === "LIVE" || state === "DELAYED" ? { net: frame.power.net, at } : null;
}

/** The powers in watts between which the middle level lies, or null where levels are not of power. */
export function levelBounds({ ambient }) {
  return ambient?.unit === "W" ? [ambient.lowBelow, ambient.highFrom] : null;
}

function stateAt(age, every) {
  const index = LIMITS.findIndex(({ intervals, minimum }) => age < Math.max(intervals * every, minimum));
  return STATES.at(index);
}

function worse(one, other) {
  return STATES[Math.max(STATES.indexOf(one), STATES.indexOf(other))];
}
