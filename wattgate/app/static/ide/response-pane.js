/** The pane of the response: status, time, size, cost, errors with links to the document, and the body. */

import { closestTo, element, find } from "../shared/dom.js";
import { offsetOf, positionOf } from "./editor/positions.js";
import { describeResponse, explainFailure } from "./response-facts.js";
import { ResponseText } from "./response-text.js";
import { showPane } from "./layout.js";

/** @import { GraphQLResponse } from "./requests.js" */
/** @import { CurrentRequest, Workspace } from "./workspace.js" */

/** @typedef {GraphQLResponse & { request: CurrentRequest }} Received */
/** @typedef {{ message: string, path?: (string | number)[], locations?: { line: number, column: number }[], extensions?: { code?: string, docUrl?: string } }} GraphQLError */

const MAX_ERRORS = 20;
const WAITING = "Run the operation to see its response.";
const NO_RESPONSE = "There is no response.";
const NO_EVENT = "No event has arrived yet.";

export class ResponsePane {
  #workspace;
  #facts = find(document, ".response-facts");
  #notice = find(document, ".response-notice");
  #errors = find(document, ".response-errors");
  #copy = find(document, ".copy-response");
  #text = new ResponseText(find(document, ".response-body"));
  /**
   * The last response of each document, by its ID.
   * @type {Map<string, () => void>}
   */
  #shown = new Map();
  /** The document whose response is shown, and the one that runs. */
  #current = "";
  #running = "";
  #isRunning = false;

  /** @param {Workspace} workspace */
  constructor(workspace) {
    this.#workspace = workspace;
    this.#text.showHint(WAITING);
    this.#current = workspace.document.id;
    workspace.on("run", () => {
      [this.#running, this.#isRunning] = [workspace.document.id, true];
      this.#keep(() => this.#begin());
    });
    workspace.on("response", (received) => {
      this.#keep(() => this.#show(received));
      showPane("response");
    });
    workspace.on("refused", (message) => {
      // A request that is not even sent is of the active document.
      const wasSent = this.#isRunning;
      if (!wasSent) this.#running = workspace.document.id;
      this.#keep(() => this.#refuse(message, wasSent));
      showPane("response");
    });
    workspace.on("stopped", () => this.#keep(() => { this.#facts.textContent = "Stopped."; }));
    for (const event of ["response", "refused", "stopped", "idle"]) workspace.on(event, () => { this.#isRunning = false; });
    workspace.on("subscription", (event) => this.#keep(() => this.#showEvent(event)));
    workspace.on("documents", () => this.#change());
    workspace.on("logout", () => {
      this.#shown.clear();
      this.#clear();
    });
    this.#copy.addEventListener("click", () => void this.#copyText());
    this.#errors.addEventListener("click", (event) => {
      const offset = closestTo(event, "[data-offset]")?.dataset.offset;
      if (offset !== undefined) this.#workspace.goTo(Number(offset));
    });
  }

  /**
   * Show something for the document that runs, now or when its tab is opened again.
   * @param {() => void} show
   */
  #keep(show) {
    this.#shown.set(this.#running, show);
    if (this.#running === this.#current) show();
  }

  /** Show the response of the document that is active now. */
  #change() {
    const { document: active, documents } = this.#workspace;
    for (const id of this.#shown.keys()) if (!documents.some((one) => one.id === id)) this.#shown.delete(id);
    if (active.id === this.#current) return;
    this.#current = active.id;
    this.#clear();
    this.#shown.get(active.id)?.();
  }

  #begin() {
    this.#facts.textContent = "Running…";
    this.#notice.hidden = true;
    this.#errors.hidden = true;
  }

  /** @param {Received} received */
  #show(received) {
    const { body, text } = received;
    this.#facts.replaceChildren(...describeResponse(received));
    this.#showNotice(explainFailure(received, this.#workspace.usesSession));
    this.#showErrors(body?.errors ?? [], received.request.query);
    this.#text.show(body === undefined ? text : JSON.stringify(body, null, 2), body !== undefined);
    this.#copy.hidden = false;
  }

  /**
   * @param {string} message
   * @param {boolean} wasSent
   */
  #refuse(message, wasSent) {
    this.#facts.textContent = wasSent ? "Failed." : "Not sent.";
    this.#showNotice({ message, offersLogin: false });
    if (wasSent) this.#showHint(NO_RESPONSE);
  }

  /** @param {{ type: string, request: CurrentRequest, value: any }} event */
  #showEvent({ type, value, request }) {
    if (type === "start") {
      this.#facts.textContent = "Connecting…";
      this.#showHint(NO_EVENT);
    }
    if (type === "status") this.#facts.textContent = value;
    if (type === "complete") this.#facts.textContent = "The subscription has ended.";
    if (type === "error") this.#refuse(value, true);
    if (type !== "next") return;
    this.#showErrors(value?.errors ?? [], request.query);
    this.#text.show(JSON.stringify(value, null, 2), true);
    this.#copy.hidden = false;
  }

  /** @param {{ message: string, offersLogin: boolean } | null} failure */
  #showNotice(failure) {
    this.#notice.hidden = failure === null;
    if (!failure) return;
    this.#notice.replaceChildren(element("p", {}, failure.message));
    if (!failure.offersLogin) return;
    const button = element("button", { type: "button", class: "quiet-button", "data-testid": "login-again" }, "Log in");
    button.addEventListener("click", () => this.#workspace.askToLogIn(failure.message));
    this.#notice.append(button);
  }

  /**
   * @param {GraphQLError[]} errors
   * @param {string} query
   */
  #showErrors(errors, query) {
    this.#errors.hidden = !errors.length;
    const rows = errors.slice(0, MAX_ERRORS).map((error) => element("li", {}, describeError(error, query)));
    const more = errors.length > MAX_ERRORS ? element("li", {}, `${errors.length - MAX_ERRORS} more`) : null;
    this.#errors.replaceChildren(element("ul", {}, rows, more));
  }

  #clear() {
    this.#begin();
    this.#facts.textContent = "";
    this.#showHint(WAITING);
  }

  /** @param {string} text */
  #showHint(text) {
    this.#copy.hidden = true;
    this.#text.showHint(text);
  }

  async #copyText() {
    try {
      await navigator.clipboard.writeText(this.#text.value);
      this.#workspace.notify("Copied the response.");
    } catch {
      this.#workspace.notify("The browser does not allow copying here.", { severity: "error" });
    }
  }
}

/**
 * @param {GraphQLError} error
 * @param {string} query
 */
function describeError({ message, path, locations, extensions }, query) {
  const [position] = locations ?? [];
  const offset = position ? offsetOf(query, position) : null;
  const { line, column } = positionOf(query, offset ?? 0);
  const code = extensions?.code ? element("code", { class: "error-code" }, extensions.code) : null;
  const { docUrl = "" } = extensions ?? {};
  // Only an address of the gateway: the response may come through a proxy that changes it.
  const isOwn = docUrl.startsWith("/") && !docUrl.startsWith("//");
  return [
    code && isOwn ? element("a", { href: docUrl, target: "_blank", rel: "noopener", title: "Cause and remedy" }, code) : code,
    element("span", { class: "error-message" }, message),
    path ? element("code", { class: "error-path" }, path.join(".")) : null,
    offset === null ? null : element("button", { type: "button", class: "quiet-button", "data-offset": String(offset), "data-testid": "error-place" }, `Line ${line}:${column}`),
  ];
}
