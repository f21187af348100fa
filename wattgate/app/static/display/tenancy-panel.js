/** The times in which the user lives or has lived at meter points. Nobody else is named. */

import { element, find } from "../shared/dom.js";
import { WallClock } from "./format.js";
import { replaceItems } from "./list-items.js";
import { text } from "./texts.js";

/** @import { Tenancy } from "./household-requests.js" */

/**
 * Return the time of a tenancy in words. It may have no start that is known, and no end yet.
 * @param {Pick<Tenancy, "beganAt" | "endedAt">} tenancy
 * @param {WallClock} wallClock
 * @returns {string}
 */
export function periodText({ beganAt, endedAt }, wallClock) {
  const moment = (/** @type {string} */ instant) => wallClock.format("momentOfYear", Date.parse(instant));
  if (beganAt === null) return endedAt === null ? text("tenancy.always") : text("tenancy.until", { end: moment(endedAt) });
  if (endedAt === null) return text("tenancy.since", { start: moment(beganAt) });
  return text("tenancy.fromTo", { start: moment(beganAt), end: moment(endedAt) });
}

export class TenancyPanel {
  /** @type {HTMLElement} */
  #panel;
  /** @type {Tenancy[] | null} */
  #tenancies = null;
  /** @type {string} */
  #notice = "";
  #wallClock = new WallClock();

  /** @param {HTMLElement} panel */
  constructor(panel) {
    this.#panel = panel;
    this.clear();
  }

  /** @param {WallClock} wallClock  Of the home. */
  setWallClock(wallClock) {
    this.#wallClock = wallClock;
  }

  clear() {
    this.#tenancies = null;
    this.#notice = text("tenancy.loading");
    this.draw();
  }

  /** @param {Tenancy[]} tenancies */
  show(tenancies) {
    this.#tenancies = tenancies;
    this.#notice = "";
    this.draw();
  }

  /** Report that the times could not be read. */
  fail() {
    if (this.#tenancies === null) this.#notice = text("tenancy.failed");
    this.draw();
  }

  draw() {
    const tenancies = this.#tenancies ?? [];
    replaceItems(find(this.#panel, ".tenancy-list"), tenancies.map((tenancy) => this.#buildItem(tenancy)), "tenancy");
    const isEmpty = this.#tenancies !== null && tenancies.length === 0;
    find(this.#panel, ".panel-notice").textContent = this.#notice || (isEmpty ? text("tenancy.none") : "");
    find(this.#panel, ".hint").hidden = tenancies.length === 0;
  }

  /** @param {Tenancy} tenancy */
  #buildItem(tenancy) {
    const state = tenancy.endedAt === null ? "" : " ended";
    return element(
      "li",
      { class: `tenancy-item${state}`, "data-tenancy": tenancy.tenancyId },
      element("h3", {}, text("tenancy.meterPoint", { number: tenancy.meterPointNumber })),
      element("p", {}, periodText(tenancy, this.#wallClock)),
    );
  }
}
