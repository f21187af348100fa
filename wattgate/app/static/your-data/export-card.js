/** The card of the export: it starts one, follows it while a worker builds the archive, and saves the archive. */

import { formatDay } from "../add-data/wording.js";
import { text } from "../display/texts.js";
import { now } from "../shared/clock.js";
import { element, find, findAs, setText } from "../shared/dom.js";
import { download, readExport, startExport } from "./requests.js";
import { formatSize } from "./wording.js";

/** @import { SessionRequests } from "../shared/session-requests.js" */
/** @import { DataExport } from "./requests.js" */

const POLL_MS = 2_000;
/** A request within this time returns the same archive. */
const SAME_FOR_MS = 3_600_000;
const FILE_NAME = "my-data.zip";

export class ExportCard {
  /** @type {HTMLElement} */
  #card;
  /** @type {SessionRequests} */
  #requests;
  /** @type {string} */
  #api;
  /** @type {DataExport | null} */
  #export = null;
  #timer = 0;

  /**
   * @param {HTMLElement} card
   * @param {SessionRequests} requests
   * @param {string} api  The address of the REST interface.
   */
  constructor(card, requests, api) {
    this.#card = card;
    this.#requests = requests;
    this.#api = api;
    find(card, ".prepare").addEventListener("click", () => this.#prepare());
    find(card, ".download").addEventListener("click", () => this.#download());
  }

  /** Show the export of the user, if there is one. */
  async start() {
    this.#show(null);
    await this.#follow();
  }

  /** Stop following. */
  stop() {
    clearTimeout(this.#timer);
    this.#export = null;
  }

  async #follow() {
    const { session, token } = this.#requests;
    const found = await this.#requests.send(() => readExport(token));
    if (session === this.#requests.session) this.#show(found);
  }

  async #prepare() {
    this.#requests.say("");
    const button = findAs(this.#card, ".prepare", HTMLButtonElement);
    button.disabled = true;
    const started = await this.#requests.send(() => startExport(this.#requests.token));
    button.disabled = false;
    if (started) this.#show(started);
  }

  async #download() {
    const [path, button] = [this.#export?.downloadPath, findAs(this.#card, ".download", HTMLButtonElement)];
    if (!path) return;
    this.#requests.say("");
    button.disabled = true;
    button.textContent = text("own.downloading");
    const archive = await this.#requests.send(() => download(this.#api + path, this.#requests.token));
    button.disabled = false;
    button.textContent = text("own.download");
    if (archive) save(archive);
  }

  /** @param {DataExport | null} shown */
  #show(shown) {
    this.#export = shown;
    clearTimeout(this.#timer);
    const isRunning = shown?.state === "QUEUED" || shown?.state === "RUNNING";
    if (isRunning) this.#timer = setTimeout(() => this.#follow(), POLL_MS);
    find(this.#card, ".export-progress").hidden = !isRunning;
    setText(find(this.#card, ".export-progress p"), isRunning ? text("own.preparing") : "");
    findAs(this.#card, "progress", HTMLProgressElement).value = shown?.progress ?? 0;
    setText(find(this.#card, ".export-result"), shown ? resultOf(shown) : "");
    const isDone = shown?.state === "DONE";
    find(this.#card, ".download").hidden = !isDone;
    const prepare = find(this.#card, ".prepare");
    find(this.#card, ".form-actions").hidden = isRunning;
    prepare.hidden = isRunning || (isDone && now() - Date.parse(shown.createdAt) < SAME_FOR_MS);
    prepare.textContent = text(shown ? "own.prepareAgain" : "own.prepare");
  }
}

/** @param {DataExport} shown */
function resultOf({ state, reason, size, createdAt, expiresAt }) {
  if (state === "FAILED") return text("own.exportFailed", { reason: reason ?? "" });
  if (state !== "DONE" || !expiresAt) return "";
  return text("own.exportReady", { day: formatDay(createdAt), size: formatSize(size ?? 0), end: formatDay(expiresAt) });
}

/** @param {Blob} archive */
function save(archive) {
  const href = URL.createObjectURL(archive);
  element("a", { href, download: FILE_NAME }).click();
  setTimeout(() => URL.revokeObjectURL(href), POLL_MS);
}
