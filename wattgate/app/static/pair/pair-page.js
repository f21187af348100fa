/** The pairing page of one user: takes a code, asks about the screen, and lists the paired displays. */

import { text } from "../display/texts.js";
import { now } from "../shared/clock.js";
import { ConfirmDialog } from "../shared/confirm-dialog.js";
import { element, find, findAs } from "../shared/dom.js";
import { toGatewayError } from "../shared/gateway.js";
import { TimerQueue } from "../shared/timer-queue.js";
import { CodeForm } from "./code-form.js";
import { DisplayList } from "./display-list.js";
import { QuestionForm } from "./question-form.js";
import { approve, checkCode, deny, listDisplays, readAccount, renameDisplay, revokeDisplay } from "./requests.js";
import { explainPairingError, firstName } from "./wording.js";

/** @import { Session } from "../shared/session.js" */
/** @import { OwnHome, PairedDisplay } from "./requests.js" */

const SECOND = 1000;
/** A screen fetches its access some seconds after the approval. The list is read again until then. */
const LIST_INTERVAL = 2 * SECOND;
const LIST_ATTEMPTS = 15;
const RETRY_DELAY = 10 * SECOND;

export class PairPage {
  /** @type {HTMLElement} */
  #root;
  /** @type {() => void} */
  #onSessionEnded;
  #timers = new TimerQueue();
  /** @type {CodeForm} */
  #codeForm;
  /** @type {QuestionForm} */
  #question;
  /** @type {DisplayList} */
  #list;
  /** @type {ConfirmDialog} */
  #dialog;
  /** @type {Session | null} */
  #session = null;
  /** @type {OwnHome[]} */
  #homes = [];
  /** @type {PairedDisplay[]} */
  #displays = [];
  /** The code that the user decides about, or that waits for the log-in. */
  #code = "";

  /**
   * @param {HTMLElement} root
   * @param {() => void} onSessionEnded  Called when the gateway rejects the session.
   */
  constructor(root, onSessionEnded) {
    this.#root = root;
    this.#onSessionEnded = onSessionEnded;
    this.#codeForm = new CodeForm(findAs(root, ".code-form", HTMLFormElement), (code) => this.#check(code));
    this.#question = new QuestionForm(findAs(root, ".question-form", HTMLFormElement), {
      onApprove: (home, name) => this.#approve(home, name),
      onDeny: () => this.#deny(),
    });
    this.#list = new DisplayList(find(root, ".displays"), {
      now,
      onRename: (display, name) => this.#rename(display, name),
      onRevoke: (display) => this.#revoke(display),
    });
    this.#dialog = new ConfirmDialog(findAs(document, ".revoke-dialog", HTMLDialogElement));
  }

  /**
   * Ask about a code, now or after the log-in.
   * @param {string} code
   */
  open(code) {
    this.#code = code;
    if (this.#session && code) this.#load();
  }

  /**
   * Load the homes and displays of the session's account.
   * @param {Session} session
   */
  start(session) {
    this.#session = session;
    this.#load();
  }

  /** Remove everything that was shown. */
  stop() {
    this.#session = null;
    this.#timers.clear();
    this.#dialog.close();
    this.#list.closeForm();
    this.#list.show([], []);
    this.#showStep(null);
    this.#say("");
  }

  get #token() {
    return this.#session?.token ?? "";
  }

  async #load() {
    const account = await this.#send(() => readAccount(this.#token), (message) => {
      this.#say(message, true);
      this.#timers.schedule(RETRY_DELAY, "load", () => this.#load());
    });
    if (!account) return;
    this.#say("");
    this.#homes = account.homes;
    this.#showDisplays(account.displays);
    find(this.#root, ".no-homes").hidden = this.#homes.length > 0;
    if (this.#homes.length === 0) this.#showStep(null);
    else if (this.#code) this.#check(this.#code);
    else this.#askForCode();
  }

  #askForCode() {
    this.#codeForm.fill("");
    this.#showStep(this.#codeForm);
    this.#codeForm.focus();
  }

  /** @param {string} code */
  async #check(code) {
    this.#codeForm.fill(code);
    this.#codeForm.setBusy(true);
    const name = await this.#send(() => checkCode(this.#token, code), (message) => this.#refuseCode(message));
    this.#codeForm.setBusy(false);
    if (name === null) return;
    this.#code = code;
    this.#say("");
    this.#showStep(this.#question);
    this.#question.ask(code, this.#homes, firstName(name, this.#displays.map((display) => display.name)));
  }

  /** @param {string} message */
  #refuseCode(message) {
    this.#forgetCode();
    this.#showStep(this.#codeForm);
    this.#codeForm.showError(message);
  }

  /**
   * @param {OwnHome} home
   * @param {string} name
   */
  async #approve(home, name) {
    const approval = { userCode: this.#code, homeId: home.homeId, name };
    if (!(await this.#decide(() => approve(this.#token, approval)))) return;
    this.#finish(text("pair.approved", { name, home: home.name }));
    this.#awaitDisplay(this.#displays.length, LIST_ATTEMPTS);
  }

  async #deny() {
    if (await this.#decide(() => deny(this.#token, this.#code))) this.#finish(text("pair.refused"));
  }

  /**
   * Send a decision, and return whether it succeeded. If the code is no longer valid, ask for another one.
   * @param {() => Promise<void>} send
   */
  async #decide(send) {
    this.#question.setBusy(true);
    const done = await this.#send(() => send().then(() => true), (message, code) => {
      if (code === "NOT_FOUND") this.#refuseCode(message);
      else this.#question.showError(message);
    });
    this.#question.setBusy(false);
    return done;
  }

  /** @param {string} message */
  #finish(message) {
    this.#forgetCode();
    this.#showStep(null);
    find(this.#root, ".another").hidden = false;
    this.#say(message);
    find(this.#root, ".notice").focus();
  }

  /** Remove the code from the address too: it can be used once. */
  #forgetCode() {
    this.#code = "";
    if (location.hash) history.replaceState(null, "", location.pathname + location.search);
  }

  /**
   * Read the list until the new display is in it.
   * @param {number} count  The number of displays before.
   * @param {number} attempts
   */
  #awaitDisplay(count, attempts) {
    this.#timers.schedule(LIST_INTERVAL, "list", async () => {
      const displays = await this.#send(() => listDisplays(this.#token), () => {});
      if (displays) this.#showDisplays(displays);
      if (attempts > 1 && (displays?.length ?? 0) <= count) this.#awaitDisplay(count, attempts - 1);
    });
  }

  /** @param {PairedDisplay[]} displays */
  #showDisplays(displays) {
    this.#displays = displays;
    this.#list.show(displays, this.#homes);
  }

  /**
   * @param {PairedDisplay} display
   * @param {string} name
   */
  async #rename(display, name) {
    const { displayId } = display;
    if (await this.#change(displayId, () => renameDisplay(this.#token, displayId, name))) {
      this.#say(text("pair.renamed", { name }));
    }
  }

  /** @param {PairedDisplay} display */
  async #revoke(display) {
    const { displayId, homeId, name } = display;
    const home = this.#homes.find((one) => one.homeId === homeId)?.name ?? text("pair.home");
    const confirmed = await this.#dialog.ask({
      title: text("pair.revokeTitle", { name }),
      details: [element("p", {}, text("pair.revokeDetail", { home }))],
      action: text("pair.revoke"),
      cancel: text("pair.cancel"),
    });
    if (!confirmed || !(await this.#change(displayId, () => revokeDisplay(this.#token, displayId)))) return;
    this.#say(text("pair.revoked", { name }));
  }

  /**
   * Change a display and show the new list. Return whether it succeeded.
   * @param {string} displayId
   * @param {() => Promise<void>} send
   */
  async #change(displayId, send) {
    const displays = await this.#send(() => send().then(() => listDisplays(this.#token)), (message) => {
      this.#say(message, true);
    });
    if (!displays) return false;
    this.#list.closeForm();
    this.#showDisplays(displays);
    this.#list.focus(displayId);
    return true;
  }

  /**
   * Send a request and return its result. Return null if it failed, or if the session has changed in the meantime.
   * @template T
   * @param {() => Promise<T>} send
   * @param {(message: string, code: string | undefined) => void} onError
   * @returns {Promise<T | null>}
   */
  async #send(send, onError) {
    const session = this.#session;
    try {
      const result = await send();
      return session === this.#session ? result : null;
    } catch (thrown) {
      if (session !== this.#session) return null;
      const error = toGatewayError(thrown);
      if (error.unauthenticated) this.#onSessionEnded();
      else onError(explainPairingError(error), error.code);
      return null;
    }
  }

  /** @param {CodeForm | QuestionForm | null} step */
  #showStep(step) {
    for (const form of [this.#codeForm, this.#question]) form.setVisible(form === step);
    find(this.#root, ".another").hidden = true;
  }

  /**
   * Show a message above the page.
   * @param {string} message
   * @param {boolean} [isError]
   */
  #say(message, isError = false) {
    const notice = find(this.#root, ".notice");
    notice.textContent = message;
    notice.classList.toggle("error", isError);
  }

  /** Show the form for another code. */
  pairAnother() {
    this.#say("");
    this.#askForCode();
  }
}
