/** Sends the request of a form, and shows the response. Asks before a request that changes something. */

import { element, prose } from "../shared/dom.js";
import { findProblems, fullAddress, planRequest } from "./request.js";
import { failureView, responseView } from "./response-view.js";
import { receive } from "./send.js";

/** @import { ConfirmDialog } from "../shared/confirm-dialog.js" */
/** @import { Credentials } from "./credentials.js" */
/** @import { LoginDialog } from "./login-dialog.js" */
/** @import { Operation, Reference } from "./openapi.js" */
/** @import { RequestForm } from "./request-form.js" */
/** @import { RequestPlan } from "./request.js" */

/**
 * Parts of the page that a request needs.
 * @typedef {object} Surroundings
 * @property {Reference} reference
 * @property {Credentials} credentials
 * @property {LoginDialog} login
 * @property {ConfirmDialog} confirmation
 */

export class TryIt {
  /** @type {Operation} */
  #operation;
  /** @type {RequestForm} */
  #form;
  /** @type {Surroundings} */
  #page;
  /** @type {AbortController | null} */
  #running = null;
  #dispose = () => {};
  #button = element("button", { type: "button", class: "send", "data-testid": "send" }, "Send");
  #stop = element("button", { type: "button", hidden: true, "data-testid": "stop" }, "Stop");
  #sender = element("span", { class: "sender", "data-testid": "sender" });
  #login = element("button", { type: "button", class: "quiet-button", "data-testid": "open-login" });
  #result = element("div", { class: "result", "data-testid": "result" });

  /**
   * @param {Operation} operation
   * @param {RequestForm} form
   * @param {Surroundings} page
   */
  constructor(operation, form, page) {
    this.#operation = operation;
    this.#form = form;
    this.#page = page;
    this.#button.addEventListener("click", () => this.send());
    this.#stop.addEventListener("click", () => this.#running?.abort());
    this.#login.addEventListener("click", () => page.login.open());
    page.credentials.addEventListener("change", () => this.#showSender());
    if (operation.isDestructive) this.#button.classList.add("destructive");
    /** @type {HTMLElement} */
    this.root = element(
      "div",
      { class: "try-it", role: "group", "aria-label": "Try it" },
      element("div", { class: "send-row" }, this.#button, this.#stop, this.#sender, this.#login),
      this.#result,
    );
    this.#showSender();
  }

  #showSender() {
    const { label } = this.#page.credentials;
    const isOpen = this.#operation.credentials.length === 0;
    this.#sender.textContent = isOpen ? "No credential is sent." : label ? `As ${label}.` : "Log in to send this request.";
    this.#login.textContent = label ? "Change" : "Log in";
    this.#login.hidden = isOpen;
  }

  /** Send the request of the form, after a log-in and a confirmation if they are needed. */
  async send() {
    if (this.#running) return;
    const values = this.#form.values;
    const problems = findProblems(this.#operation, values);
    this.#form.showProblems(problems);
    if (problems.length) return;
    const { credentials, login, reference } = this.#page;
    const credential = credentials.forOperation(this.#operation, reference.schemes);
    if (!credential) {
      login.open(this.#whyLogIn(), () => this.send());
      return;
    }
    const userId = credential.kind === "basic" ? credentials.userId : "";
    const plan = planRequest(this.#operation, values, reference, credential, userId);
    if (this.#operation.isMutation && !(await this.#confirm(plan))) return;
    await this.#run(plan);
  }

  #whyLogIn() {
    const { label } = this.#page.credentials;
    if (!label) return "";
    const needed = this.#operation.credentials.includes("basic") ? "the credential of an application" : "a token";
    return `This operation does not accept ${label}. Give ${needed}.`;
  }

  /** @param {RequestPlan} plan */
  #confirm(plan) {
    const { method, summary, notes, isDestructive } = this.#operation;
    const address = new URL(fullAddress(plan));
    const sender = this.#operation.credentials.length ? ` as ${this.#page.credentials.label}` : "";
    return this.#page.confirmation.ask({
      title: isDestructive ? "Remove this?" : "Change data?",
      details: [
        element("p", {}, element("code", {}, `${method} ${address.pathname}${address.search}`)),
        element("p", {}, prose(summary)),
        notes.length && isDestructive ? element("p", {}, prose(notes[0])) : null,
        element("p", {}, `This sends the request to ${address.host}${sender}. It changes real data of this gateway.`),
      ],
      action: `Send ${method}`,
    });
  }

  /** @param {RequestPlan} plan */
  async #run(plan) {
    this.#running = new AbortController();
    this.#showRunning(true);
    this.#dispose();
    this.#result.replaceChildren(element("p", { class: "remark", role: "status" }, "Sending…"));
    try {
      const received = await receive(plan, this.#form.file, this.#running.signal);
      const { root, dispose } = responseView(received, () => this.#logInAgain());
      this.#dispose = dispose;
      this.#result.replaceChildren(root);
    } catch {
      const isStopped = this.#running.signal.aborted;
      this.#result.replaceChildren(failureView(isStopped ? this.#stoppedText() : unreachableText(plan)));
    } finally {
      this.#running = null;
      this.#showRunning(false);
    }
  }

  #stoppedText() {
    return this.#operation.isMutation
      ? "You stopped the request. The gateway may have executed it: check before you send it again."
      : "You stopped the request.";
  }

  #logInAgain() {
    this.#page.login.open("The gateway no longer accepts the token.", () => this.send());
  }

  /** @param {boolean} running */
  #showRunning(running) {
    this.#button.disabled = running;
    this.#stop.hidden = !running;
    if (running) this.#stop.focus();
    else if (document.activeElement === document.body) this.#button.focus();
  }
}

/** @param {RequestPlan} plan */
function unreachableText({ address }) {
  return `No response from ${new URL(address).host}. Check that the gateway runs and that you are online, then send the request again.`;
}
