/** The line at the top: whether all is well, unread alerts, and the time at the home. */

import { now } from "../shared/clock.js";
import { formatAge } from "./format.js";

/** What is said by the state of the link, and while that is good by the freshness of the readings. */
const TEXTS = {
  connecting: "Connecting",
  reconnecting: "Reconnecting",
  offline: "No network",
  displaced: "Too many screens, waiting",
  outdated: "Updating this page",
  LIVE: "Live",
  DELAYED: "Delayed",
  STALE: "Not up to date",
  OFFLINE: "No readings",
};

export class StatusBar {
  #parts;

  constructor(header) {
    this.#parts = Object.fromEntries(
      ["connection", "alerts", "count", "date", "time"].map((name) => [name, header.querySelector(`.${name}`)]),
    );
  }

  /** Show the state of the link, and while it is live that of the readings, if one is known. */
  showState(connectionState, freshness) {
    const state = connectionState === "live" ? (freshness?.state ?? "connecting") : connectionState;
    const { connection } = this.#parts;
    connection.dataset.state = connectionState;
    connection.dataset.freshness = freshness?.state ?? "UNKNOWN";
    write(connection, TEXTS[state]);
    const title = freshness?.asOf ? `Newest reading ${formatAge(Math.max(0, now() - freshness.asOf))} ago` : "";
    if (connection.title !== title) connection.title = title;
  }

  showAlerts(count) {
    this.#parts.alerts.hidden = count === 0;
    write(this.#parts.count, count > 99 ? "99+" : `${count}`);
  }

  showTime(wallClock) {
    const time = now();
    write(this.#parts.date, wallClock.format("day", time));
    write(this.#parts.time, wallClock.format("minutes", time));
  }
}

function write(part, text) {
  if (part.textContent !== text) part.textContent = text;
}
