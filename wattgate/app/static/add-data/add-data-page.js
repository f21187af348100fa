/** The page that adds data: takes a file, asks its open questions, shows what it contains, and imports it. */

import { text } from "../display/texts.js";
import { element, find, findAll, findAs } from "../shared/dom.js";
import { listHomes } from "../shared/gateway.js";
import { pageAddress } from "../shared/page-address.js";
import { SessionRequests } from "../shared/session-requests.js";
import { QuestionForm } from "./question-form.js";
import { ReportView } from "./report-view.js";
import { inspect, preview, store } from "./requests.js";

/** @import { Home } from "../shared/gateway.js" */
/** @import { Session } from "../shared/session.js" */
/** @import { Report, Setting, Transfer, Upload } from "./requests.js" */
/** @import { TextKey } from "../display/texts.js" */

/** The longest file profile that the gateway takes, and the bytes that it has at most. */
const MAX_PROFILE_CHARACTERS = 4_000;
const MAX_PROFILE_BYTES = 4 * MAX_PROFILE_CHARACTERS;

export class AddDataPage {
  /** @type {HTMLElement} */
  #root;
  /** @type {SessionRequests} */
  #requests;
  /** @type {HTMLFormElement} */
  #fileForm;
  /** @type {QuestionForm} */
  #questions;
  /** @type {ReportView} */
  #report;
  /** @type {Home[]} */
  #homes = [];
  /** @type {File | null} */
  #file = null;
  /** @type {Setting[]} The answers so far. */
  #settings = [];
  /** @type {AbortController | null} */
  #sending = null;

  /**
   * @param {HTMLElement} root
   * @param {() => void} onSessionEnded  Called when the gateway rejects the session.
   */
  constructor(root, onSessionEnded) {
    this.#root = root;
    this.#requests = new SessionRequests(root, onSessionEnded, "data.unreachable");
    this.#fileForm = findAs(root, ".file-form", HTMLFormElement);
    this.#questions = new QuestionForm(
      findAs(root, ".question-form", HTMLFormElement),
      (settings) => this.#answer(settings),
      (file) => this.#useProfile(file),
    );
    this.#report = new ReportView(find(root, ".report"));
    this.#input.addEventListener("change", () => this.#choose(this.#input.files?.[0]));
    this.#listenForDrops();
    find(root, ".progress .cancel").addEventListener("click", () => this.#sending?.abort());
    find(root, ".store").addEventListener("click", () => this.#store());
    find(root, ".back").addEventListener("click", () => this.#inspect());
    for (const button of findAll(root, ".other-file")) button.addEventListener("click", () => this.#askForFile());
  }

  /** @param {Session} session */
  async start(session) {
    this.#requests.session = session;
    const homes = await this.#requests.send(() => listHomes(session.token));
    if (!homes) return;
    this.#homes = homes;
    find(this.#root, ".no-homes").hidden = homes.length > 0;
    this.#offerHomes();
    if (homes.length === 1 && this.#file) this.#inspect();
    else if (homes.length > 0) this.#askForFile();
    else this.#show(null);
  }

  /** Remove everything that was shown. */
  stop() {
    this.#sending?.abort();
    this.#requests.session = this.#file = null;
    this.#homes = [];
    this.#settings = [];
    this.#show(null);
    this.#requests.say("");
  }

  get #input() {
    return findAs(this.#fileForm, "[name=file]", HTMLInputElement);
  }

  get #homeId() {
    return findAs(this.#fileForm, "[name=home]", HTMLSelectElement).value;
  }

  #offerHomes() {
    const select = findAs(this.#fileForm, "[name=home]", HTMLSelectElement);
    const asked = new URLSearchParams(location.search).get("home");
    const toOption = (/** @type {Home} */ { homeId, name }) => element("option", { value: homeId, selected: homeId === asked }, name);
    select.replaceChildren(...this.#homes.map(toOption));
    find(this.#fileForm, ".home-choice").hidden = this.#homes.length < 2;
  }

  #listenForDrops() {
    const zone = find(this.#root, ".drop-zone");
    for (const name of ["dragover", "dragenter"]) {
      this.#root.addEventListener(name, (event) => {
        event.preventDefault();
        zone.classList.toggle("is-over", !this.#fileForm.hidden);
      });
    }
    this.#root.addEventListener("dragleave", () => zone.classList.remove("is-over"));
    this.#root.addEventListener("drop", (event) => {
      event.preventDefault();
      zone.classList.remove("is-over");
      if (!this.#fileForm.hidden) this.#choose(/** @type {DragEvent} */ (event).dataTransfer?.files[0]);
    });
  }

  #askForFile() {
    this.#file = null;
    this.#settings = [];
    this.#input.value = "";
    this.#requests.say("");
    this.#show(".file-form");
    this.#input.focus();
  }

  /** @param {File | undefined} file */
  #choose(file) {
    if (!file) return;
    this.#file = file;
    this.#settings = [];
    if (this.#homes.length > 0) this.#inspect(); // else `start` does, when it has read the homes
  }

  /**
   * Show what the file looks like, and its questions.
   * @param {Setting[]} [settings]  Known answers. If the file is refused with them, the earlier ones count again.
   */
  async #inspect(settings = this.#profileSettings) {
    const before = this.#settings;
    this.#settings = settings;
    const inspection = await this.#transfer("data.reading", inspect);
    if (!inspection || !this.#file) {
      this.#settings = before;
      return;
    }
    this.#questions.show(this.#file.name, inspection, settings);
    this.#show(".question-form");
    this.#questions.focus();
  }

  /**
   * Preview the file with answers. If these leave another question open, show that.
   * @param {Setting[]} settings
   */
  async #answer(settings) {
    this.#settings = settings;
    const inspection = await this.#transfer("data.reading", inspect);
    if (!inspection || !this.#file) return;
    if (inspection.questions.length > 0 || !inspection.profile) {
      this.#questions.show(this.#file.name, inspection, settings);
      this.#show(".question-form");
      this.#questions.focus();
      return;
    }
    const report = await this.#transfer("data.checking", preview);
    if (report) this.#showReport(report);
  }

  /**
   * Read the file with a profile of the user's own.
   * @param {File} file
   */
  async #useProfile(file) {
    const value = file.size > MAX_PROFILE_BYTES ? null : await file.text();
    if (value === null || value.length > MAX_PROFILE_CHARACTERS) this.#requests.say(text("data.ownProfileTooLarge"));
    else await this.#inspect([{ name: "ownProfile", value }]);
  }

  async #store() {
    const report = await this.#transfer("data.storing", store);
    if (report) this.#showReport(report);
  }

  /** @param {Report} report */
  #showReport(report) {
    const href = pageAddress("/display", this.#homeId);
    for (const link of findAll(this.#root, "a.to-display")) link.setAttribute("href", href);
    this.#report.show(report);
    this.#show(".report");
    find(this.#root, "#report-title").focus();
  }

  /**
   * Send the file, and show the progress. Return null, and show the error, if it failed.
   * @template T
   * @param {TextKey} stage  The text that says what the gateway does.
   * @param {(upload: Upload, transfer: Transfer) => Promise<T>} act
   * @returns {Promise<T | null>}
   */
  async #transfer(stage, act) {
    const [file, before] = [this.#file, this.#shownPart];
    if (!file || !this.#requests.session) return null;
    const sending = (this.#sending = new AbortController());
    const bar = findAs(this.#root, ".progress progress", HTMLProgressElement);
    const title = find(this.#root, "#progress-title");
    title.textContent = text("data.sending", { name: file.name });
    this.#requests.say("");
    this.#show(".progress");
    const transfer = {
      api: this.#root.dataset.api ?? "",
      token: this.#requests.token,
      signal: sending.signal,
      onProgress: (/** @type {number} */ part) => {
        bar.value = part;
        if (part < 1) return;
        bar.removeAttribute("value"); // the gateway works
        title.textContent = text(stage, { name: file.name });
      },
      onWork: (/** @type {number} */ part) => (bar.value = part),
    };
    bar.value = 0;
    const upload = { file, homeId: this.#homeId, settings: this.#settings };
    const result = await this.#requests.send(() => act(upload, transfer));
    if (!result) this.#show(before);
    return result;
  }

  /** The profile of the user's own, if there is one. */
  get #profileSettings() {
    return this.#settings.filter(({ name }) => name === "ownProfile");
  }

  get #shownPart() {
    return [".file-form", ".question-form", ".report"].find((part) => !find(this.#root, part).hidden) ?? ".file-form";
  }

  /** @param {string | null} part */
  #show(part) {
    for (const one of [".file-form", ".progress", ".question-form", ".report"]) {
      find(this.#root, one).hidden = one !== part;
    }
  }
}
