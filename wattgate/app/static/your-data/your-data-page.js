/** The page of the own data: the stored readings, a copy of all data, and the deletion of a home or of everything. */

import { text } from "../display/texts.js";
import { formatDay } from "../add-data/wording.js";
import { now } from "../shared/clock.js";
import { element, find, findAll, findAs } from "../shared/dom.js";
import { pageAddress } from "../shared/page-address.js";
import { SessionRequests } from "../shared/session-requests.js";
import { describeUse, readUse } from "./answers.js";
import { ErasureDialog } from "./erasure-dialog.js";
import { ExportCard } from "./export-card.js";
import { close, erase, leave, readStored } from "./requests.js";
import { describeKept, describeSeries } from "./wording.js";

/** @import { Session } from "../shared/session.js" */
/** @import { OwnHome, SharedHome, StoredData } from "./requests.js" */

const SECTIONS = [".homes", ".answers", ".export", ".everything", ".kept"];

export class YourDataPage {
  /** @type {HTMLElement} */
  #root;
  /** @type {SessionRequests} */
  #requests;
  /** @type {ErasureDialog} */
  #dialog;
  /** @type {ExportCard} */
  #export;

  /**
   * @param {HTMLElement} root
   * @param {() => void} onSessionEnded  Called when the gateway rejects the session.
   */
  constructor(root, onSessionEnded) {
    this.#root = root;
    this.#requests = new SessionRequests(root, onSessionEnded, "own.unreachable");
    this.#dialog = new ErasureDialog(findAs(root, ".own-dialog", HTMLDialogElement), onSessionEnded);
    this.#export = new ExportCard(find(root, ".export"), this.#requests, root.dataset.api ?? "");
    find(root, ".to-display").setAttribute("href", pageAddress("/display"));
    find(root, ".to-add-data").setAttribute("href", pageAddress("/add-data"));
    find(root, ".everything .danger").addEventListener("click", () => this.#eraseEverything());
    find(root, ".everything .form-actions").hidden = !this.#isPrivate;
    find(root, ".everything-text").textContent = text(this.#isPrivate ? "own.everythingText" : "own.everythingOperator");
    const kept = describeKept(this.#isPrivate, Number(root.dataset.keptDays));
    find(root, ".kept ul").replaceChildren(...kept.map((words) => element("li", {}, words)));
  }

  /** @param {Session} session */
  async start(session) {
    this.#requests.session = session;
    find(this.#root, ".farewell").hidden = true;
    find(this.#root, ".logout").hidden = false;
    for (const section of SECTIONS) find(this.#root, section).hidden = section === ".homes" || section === ".answers";
    await Promise.all([this.#readHomes(), this.#export.start()]);
  }

  /** Remove everything that was shown. */
  stop() {
    this.#dialog.close();
    this.#export.stop();
    this.#requests.session = null;
    this.#requests.say("");
    this.#confirm("");
    find(this.#root, ".home-list").replaceChildren();
    for (const section of SECTIONS) find(this.#root, section).hidden = true;
  }

  /** Whether this gateway really deletes, because nobody is billed by it. */
  get #isPrivate() {
    return this.#root.dataset.private === "true";
  }

  async #readHomes() {
    const stored = await this.#requests.send(() => readStored(this.#requests.token));
    if (!stored) return;
    this.#showHomes(stored);
    await this.#readAnswers(stored.homes);
  }

  /** @param {StoredData} stored */
  #showHomes({ homes, sharedHomes }) {
    const empty = find(this.#root, ".homes .empty");
    empty.textContent = homes.length + sharedHomes.length ? "" : text("own.noHomes");
    empty.hidden = !empty.textContent;
    const items = [...homes.map((home) => this.#ownHome(home)), ...sharedHomes.map((home) => this.#sharedHome(home))];
    find(this.#root, ".home-list").replaceChildren(...items);
    find(this.#root, ".homes").hidden = false;
    find(this.#root, ".homes").setAttribute("aria-busy", "false");
  }

  /**
   * Show the answers of each home, in the order of the homes.
   * @param {OwnHome[]} homes
   */
  async #readAnswers(homes) {
    const answers = [];
    for (const home of homes) {
      if (!home.resources.some(({ lastTime }) => lastTime)) continue;
      const time = now();
      const use = await this.#requests.send(() => readUse(this.#requests.token, home, time));
      if (use) answers.push(...this.#answersOf(describeUse(use, home, time), homes.length > 1 ? home.name : null));
    }
    find(this.#root, ".answer-list").replaceChildren(...answers);
    find(this.#root, ".answers").hidden = answers.length === 0;
  }

  /**
   * @param {ReturnType<typeof describeUse>} answers
   * @param {string | null} name  Of the home, if there are several.
   */
  #answersOf(answers, name) {
    return answers.map(({ title, sentences, note }) => {
      const heading = name === null ? title : text("own.answerOf", { name, title });
      return element("section", {}, element("h3", {}, heading), sentences.map((words) => element("p", {}, words)), note && element("p", { class: "note" }, note));
    });
  }

  /** @param {OwnHome} home */
  #ownHome(home) {
    const series = home.resources.map((one) => element("li", {}, describeSeries(one)));
    const content = series.length ? element("ul", { class: "series" }, series) : element("p", {}, text("own.noSeries"));
    return this.#item(home.name, content, this.#isPrivate ? "own.deleteHome" : "own.closeHome", () => this.#end(home));
  }

  /** @param {SharedHome} home */
  #sharedHome(home) {
    const content = element("p", {}, text("own.shared", { day: formatDay(home.joinedAt) }));
    return this.#item(home.name, content, "own.leave", () => this.#leave(home));
  }

  /**
   * @param {string} name
   * @param {HTMLElement} content
   * @param {"own.deleteHome" | "own.closeHome" | "own.leave"} action
   * @param {() => void} act
   */
  #item(name, content, action, act) {
    const label = text(action);
    const described = { type: "button", class: "danger", "aria-label": `${label}: ${name}`, "aria-haspopup": "dialog" };
    const button = element("button", described, label);
    button.addEventListener("click", act);
    return element("li", {}, element("div", {}, element("h3", {}, name), content), button);
  }

  /**
   * Delete a home on a private gateway. Close it on others.
   * @param {OwnHome} home
   */
  async #end({ homeId, name }) {
    const { token } = this.#requests;
    const isPrivate = this.#isPrivate;
    const done = await this.#dialog.ask({
      title: text(isPrivate ? "own.deleteTitle" : "own.closeTitle", { name }),
      details: isPrivate ? [text("own.deleteText"), text("own.cannotUndo")] : [text("own.closeText")],
      action: text(isPrivate ? "own.deleteHome" : "own.closeHome"),
      name,
      asksPassword: false,
      act: (proof) => (isPrivate ? erase(token, homeId, proof) : close(token, homeId)),
    });
    if (done) await this.#afterwards(text(isPrivate ? "own.deleted" : "own.closed", { name }));
  }

  /** @param {SharedHome} home */
  async #leave({ homeId, name }) {
    const { token } = this.#requests;
    const done = await this.#dialog.ask({
      title: text("own.leaveTitle", { name }),
      details: [text("own.leaveText")],
      action: text("own.leave"),
      name: null,
      asksPassword: false,
      act: () => leave(token, homeId),
    });
    if (done) await this.#afterwards(text("own.left", { name }));
  }

  async #eraseEverything() {
    const { token, session } = this.#requests;
    const done = await this.#dialog.ask({
      title: text("own.eraseTitle"),
      details: [text("own.eraseText"), text("own.cannotUndo")],
      action: text("own.erase"),
      name: null,
      asksPassword: true,
      act: (proof) => erase(token, null, proof),
    });
    if (!done) return;
    this.stop();
    session?.discard();
    find(this.#root, ".logout").hidden = true;
    for (const link of findAll(this.#root, "header nav a")) link.hidden = true;
    find(this.#root, ".farewell").hidden = false;
    find(this.#root, ".farewell h2").focus();
  }

  /** @param {string} message  The act that has succeeded. */
  async #afterwards(message) {
    this.#requests.say("");
    await Promise.all([this.#readHomes(), this.#export.start()]); // a deleted home deletes the copy that has its readings
    this.#confirm(message);
  }

  /** @param {string} message */
  #confirm(message) {
    const done = find(this.#root, ".done");
    done.textContent = message;
    if (message) done.focus();
  }
}
