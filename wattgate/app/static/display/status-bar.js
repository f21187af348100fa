/** The status bar: the state of the connection and of the readings, and the local time of the home. */

import { now } from "../shared/clock.js";
import { find, setText } from "../shared/dom.js";
import { hasLivePower } from "./day-course.js";
import { formatAge } from "./format.js";
import { freshnessAt } from "./frame.js";
import { text } from "./texts.js";

/** @import { ConnectionState } from "../shared/connection.js" */
/** @import { WallClock } from "./format.js" */
/** @import { Link } from "./frame.js" */
/** @import { Frame } from "./subscription.js" */

export class StatusBar {
  /** @type {HTMLElement} */
  #header;

  /** @param {HTMLElement} header */
  constructor(header) {
    this.#header = header;
  }

  /**
   * Show the state of the connection; while it is live, that of the readings. Without live power nothing is live: then
   * show until when there are readings.
   * @param {ConnectionState} connectionState
   * @param {Frame | null} frame
   * @param {Link} link
   * @param {WallClock} wallClock
   */
  showState(connectionState, frame, link, wallClock) {
    const time = now();
    const freshness = frame && freshnessAt(frame, time, link);
    const asOf = freshness?.asOf ?? null;
    const state = connectionState === "live" ? (freshness?.state ?? "connecting") : connectionState;
    const isRecorded = connectionState === "live" && frame !== null && asOf !== null && !hasLivePower(frame);
    const connection = this.#part("connection");
    connection.dataset.state = connectionState;
    connection.dataset.freshness = isRecorded ? "RECORDED" : (freshness?.state ?? "UNKNOWN");
    setText(connection, isRecorded ? text("status.recorded", { time: wallClock.moment(asOf, time) }) : text(`status.${state}`));
    const title = asOf ? text("status.newest", { age: formatAge(Math.max(0, time - asOf)) }) : "";
    if (connection.title !== title) connection.title = title;
  }

  /**
   * Show the current time and date.
   * @param {WallClock} wallClock
   */
  showTime(wallClock) {
    const time = now();
    setText(this.#part("date"), wallClock.format("day", time));
    setText(this.#part("time"), wallClock.format("minutes", time));
  }

  /** @param {string} name */
  #part(name) {
    return find(this.#header, `.${name}`);
  }
}
