/** The pane of the response: status, time, size, cost, errors with links to the document, and the body. */

import { copyText } from "../shared/clipboard.js";
import { closestTo, element, find, findAs } from "../shared/dom.js";
import { offsetOf, positionOf } from "./editor/positions.js";
import { describeResponse, explainFailure } from "./response-facts.js";
import { ResponseText } from "./response-text.js";
import { showPane } from "./layout.js";

/** @import { GraphQLResponse } from "./requests.js" */
/** @import { CurrentRequest, Workspace } from "./workspace.js" */

/** @typedef {{ message: string, path?: (string | number)[], locations?: { line: number, column: number }[], extensions?: { code?: string, docUrl?: string } }} GraphQLError */

/**
 * The response to a document, as far as it has arrived. `text` is empty while there is none; the hint is shown then.
 * @typedef {object} DocumentResponse
 * @property {(HTMLElement | string)[]} facts
 * @property {{ message: string, offersLogin: boolean } | null} failure
 * @property {GraphQLError[]} errors
 * @property {string} query  The text to which the places of the errors refer.
 * @property {string} text
 * @property {boolean} isJson
 * @property {string} hint
 */

const MAX_ERRORS = 20;
const NO_RESPONSE = "There is no response.";
const NO_EVENT = "No event has arrived yet.";
/** @type {Readonly<DocumentResponse>} */
const NOTHING = Object.freeze({ facts: [], failure: null, errors: [], query: "", text: "", isJson: true, hint: "Run the operation to see its response." });

export class ResponsePane {
  #workspace;
  #facts = find(document, ".response-facts");
  #notice = find(document, ".response-notice");
  #errors = find(document, ".response-errors");
  #copy = findAs(document, ".copy-response", HTMLButtonElement);
  #text = new ResponseText(find(document, ".response-body"));
  /**
   * The last response of each document, by its ID.
   * @type {Map<string, DocumentResponse>}
   */
  #responses = new Map();
  /** The response that is shown, and its document. @type {DocumentResponse | null} */
  #shown = null;
  #shownId = "";

  /** @param {Workspace} workspace */
  constructor(workspace) {
    this.#workspace = workspace;
    workspace.on("run", ({ source }) => this.#change(source.id, { facts: ["Running…"], failure: null, errors: [] }));
    workspace.on("response", (received) => this.#receive(received));
    workspace.on("refused", ({ documentId, message, wasSent }) => {
      if (wasSent) this.#fail(documentId, message);
      else this.#change(documentId, { facts: ["Not sent."], failure: { message, offersLogin: false } });
      if (documentId === workspace.document.id) showPane("response");
    });
    workspace.on("stopped", ({ source }) => this.#change(source.id, { facts: ["Stopped."] }));
    workspace.on("subscription", (event) => this.#receiveEvent(event));
    workspace.on("documents", (documents) => {
      for (const id of this.#responses.keys()) {
        if (!documents.some((/** @type {{ id: string }} */ one) => one.id === id)) this.#responses.delete(id);
      }
      this.#render();
    });
    workspace.on("logout", () => {
      this.#responses.clear();
      this.#render();
    });
    this.#copy.addEventListener("click", () => void this.#copyText());
    this.#errors.addEventListener("click", (event) => {
      const offset = closestTo(event, "[data-offset]")?.dataset.offset;
      if (offset !== undefined) this.#workspace.goTo(Number(offset));
    });
    this.#render();
  }

  /**
   * Note what has changed in the response to a document. It is shown now, or when its tab is opened again.
   * @param {string} documentId
   * @param {Partial<DocumentResponse>} change
   */
  #change(documentId, change) {
    // A document that was closed has no response.
    if (!this.#workspace.documents.some(({ id }) => id === documentId)) return;
    this.#responses.set(documentId, { ...(this.#responses.get(documentId) ?? NOTHING), ...change });
    this.#render();
  }

  /** @param {GraphQLResponse & { request: CurrentRequest }} received */
  #receive(received) {
    const { request, body, text } = received;
    this.#change(request.source.id, {
      facts: describeResponse(received), failure: explainFailure(received, request.usesSession),
      errors: body?.errors ?? [], query: request.query,
      text: body === undefined ? text : JSON.stringify(body, null, 2), isJson: body !== undefined, hint: NO_RESPONSE,
    });
    if (request.source.id === this.#workspace.document.id) showPane("response");
  }

  /** @param {{ type: string, request: CurrentRequest, value: any }} event */
  #receiveEvent({ type, value, request: { source, query } }) {
    if (type === "start") this.#change(source.id, { facts: ["Connecting…"], text: "", hint: NO_EVENT });
    if (type === "status") this.#change(source.id, { facts: [value] });
    if (type === "stopped") this.#change(source.id, { facts: ["Stopped."] });
    if (type === "complete") this.#change(source.id, { facts: ["The subscription has ended."] });
    if (type === "error") this.#fail(source.id, value);
    if (type === "next") this.#change(source.id, { errors: value?.errors ?? [], query, text: JSON.stringify(value, null, 2), isJson: true });
  }

  /**
   * @param {string} documentId
   * @param {string} message
   */
  #fail(documentId, message) {
    this.#change(documentId, { facts: ["Failed."], failure: { message, offersLogin: false }, text: "", hint: NO_RESPONSE });
  }

  /** Show the response to the active document, as far as it is not shown yet. */
  #render() {
    const { id } = this.#workspace.document;
    const next = this.#responses.get(id) ?? NOTHING;
    if (id !== this.#shownId) this.#text.showHint(""); // so that the next text begins at its top
    const before = id === this.#shownId ? this.#shown : null;
    [this.#shownId, this.#shown] = [id, next];
    if (next.facts !== before?.facts) this.#facts.replaceChildren(...next.facts);
    if (next.failure !== before?.failure) this.#showNotice(next.failure);
    if (next.errors !== before?.errors) this.#showErrors(next.errors, next.query);
    if (next.text !== before?.text || next.hint !== before?.hint) this.#showText(next);
  }

  /** @param {DocumentResponse} response */
  #showText({ text, isJson, hint }) {
    this.#copy.hidden = !text;
    if (text) this.#text.show(text, isJson);
    else this.#text.showHint(hint);
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

  async #copyText() {
    if (await copyText(this.#text.value)) this.#workspace.notify("Copied the response.");
    else this.#workspace.notify("The browser does not allow copying here. Select the text instead.", { severity: "error" });
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
