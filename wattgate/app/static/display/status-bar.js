/** The status bar: the state of the connection and of the readings, and the local time of the home. */

import { now } from "../shared/clock.js";
import { find, setText } from "../shared/dom.js";
import { formatAge } from "./format.js";
import { text } from "./texts.js";

/** @import { ConnectionState } from "../shared/connection.js" */
/** @import { WallClock } from "./format.js" */
/** @import { Freshness } from "./frame.js" */
export class StatusBar {
  /** @type {HTMLElement} */
  #header;

  /** @param {HTMLElement} header */
  constructor(header) {
    this.#header = header;
  }

  /**
   * Show the state of the connection; while it is live, that of the readings.
   * @param {ConnectionState} connectionState
   * @param {Freshness | null} freshness
   */
  showState(connectionState, freshness) {
    const state = connectionState === "live" ? (freshness?.state ?? "connecting") : connectionState;
    const connection = this.#part("connection");
    connection.dataset.state = connectionState;
    connection.dataset.freshness = freshness?.state ?? "UNKNOWN";
    setText(connection, text(`status.${state}`));
    const title = freshness?.asOf ? text("status.newest", { age: formatAge(Math.max(0, now() - freshness.asOf)) }) : "";
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
