/** What the spans of the history are called: in full, and under the bars. */

/** The full name of a span, for its readout. */
export function bucketName(view, { start, end }, wallClock) {
  switch (view) {
    case "hours":
      return `${wallClock.format("minutes", start)} to ${wallClock.format("minutes", end)}`;
    case "days":
      return wallClock.format("date", start);
    case "weeks":
      return `${wallClock.format("dayOfMonth", start)} to ${wallClock.format("dayOfMonth", end - 1)}`;
    default:
      return wallClock.format("monthOfYear", start);
  }
}

/** What stands under a bar: `{ label, minor }`, where minor ones go when there is no room; or null. */
export function bucketTick(view, { start, end }, wallClock, now) {
  switch (view) {
    case "hours": {
      const label = wallClock.format("minutes", start);
      const hour = Number.parseInt(label, 10);
      return hour % 3 === 0 ? { label, minor: hour % 6 !== 0 } : null;
    }
    case "days":
      return { label: now < end ? "Today" : wallClock.format("weekday", start), minor: false };
    case "weeks":
      return { label: now < end ? "This week" : wallClock.format("dayOfMonth", start), minor: false };
    default:
      return monthTick(start, wallClock);
  }
}

function monthTick(start, wallClock) {
  const label = wallClock.format("month", start);
  const number = Number.parseInt(wallClock.format("monthNumber", start), 10);
  return { label: number === 1 ? wallClock.format("year", start) : label, minor: number % 2 === 0 };
}
