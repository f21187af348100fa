/** What the spans of the history are called: in full, and under the bars. */

/** The full name of a span, for its readout. */
export function nameOf(view, { start, end }, wallClock) {
  switch (view) {
    case "hours":
      return `${wallClock.write("minutes", start)} to ${wallClock.write("minutes", end)}`;
    case "days":
      return wallClock.write("date", start);
    case "weeks":
      return `${wallClock.write("dayOfMonth", start)} to ${wallClock.write("dayOfMonth", end - 1)}`;
    default:
      return wallClock.write("monthOfYear", start);
  }
}

/** What stands under a bar: `{ label, minor }`, where minor ones go when there is no room; or null. */
export function tickOf(view, { start, end }, wallClock, now) {
  switch (view) {
    case "hours": {
      const label = wallClock.write("minutes", start);
      const hour = Number.parseInt(label, 10);
      return hour % 3 === 0 ? { label, minor: hour % 6 !== 0 } : null;
    }
    case "days":
      return { label: now < end ? "Today" : wallClock.write("weekday", start), minor: false };
    case "weeks":
      return { label: now < end ? "This week" : wallClock.write("dayOfMonth", start), minor: false };
    default:
      return monthTick(start, wallClock);
  }
}

function monthTick(start, wallClock) {
  const label = wallClock.write("month", start);
  const number = Number.parseInt(wallClock.write("monthNumber", start), 10);
  return { label: number === 1 ? wallClock.write("year", start) : label, minor: number % 2 === 0 };
}
