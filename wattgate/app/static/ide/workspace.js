/**
 * The state of the IDE and what its parts can do with it: documents, schema, session, requests and events. The panels get
 * it when they are mounted.
 */

import { GatewayError } from "../shared/gateway.js";
import { titleOf } from "./document-title.js";
import { MAX_DOCUMENTS } from "./documents.js";
import { DryRunQueue } from "./dry-run-queue.js";
import { Emitter } from "./emitter.js";
import { parseHeaders } from "./headers.js";
import { parseJson } from "./language/json.js";
import { sendRequest } from "./requests.js";
import { loadSchema } from "./schema-loader.js";

/** @import { Analysis, OperationChoice } from "./analysis.js" */
/** @import { Documents, IdeDocument, NewDocument } from "./documents.js" */
/** @import { DryRunOptions } from "./dry-run-queue.js" */
/** @import { IdeSession } from "./ide-session.js" */
/** @import { Cost } from "./panels/spending.js" */
/** @import { GraphQLRequest, GraphQLResponse } from "./requests.js" */
/** @import { SchemaState } from "./schema-loader.js" */

/**
 * The facts about the gateway in the page.
 * @typedef {{ applicationId: string, demonstration: null | { password: string, logins: { username: string, shows: string }[] } }} Facts
 */

/**
 * An operation with everything that a request needs.
 * @typedef {object} CurrentRequest
 * @property {string} query
 * @property {Record<string, unknown>} variables
 * @property {string | null} operationName
 * @property {OperationChoice["kind"]} kind
 * @property {Record<string, string>} headers
 * @property {boolean} usesSession  Whether its token is the one of the page's session.
 * @property {Readonly<IdeDocument>} source  A copy of the document that it comes from.
 */

/**
 * The functions of a mounted panel: it is shown, or hidden.
 * @typedef {{ shown?(detail?: unknown): void, hidden?(): void }} MountedPanel
 */
/** @typedef {{ id: string, title: string, icon: string, mount(root: HTMLElement, workspace: Workspace): MountedPanel | void }} Panel */
/** @typedef {{ isRunning: boolean, run(): Promise<void>, start(request: CurrentRequest): Promise<void>, stop(): void }} OperationRunner */
/** @typedef {{ id: string, label: string, hint?: string, run(workspace: Workspace): void }} Action */
/** @typedef {{ next(result: unknown): void, error(message: string): void, complete(): void, status(text: string): void }} SubscriptionSink */
/** @typedef {(request: CurrentRequest, sink: SubscriptionSink) => { stop(): void }} Subscribe */

/**
 * The parts of the visible page that the workspace needs.
 * @typedef {object} PageParts
 * @property {(text: string) => void} replaceText
 * @property {(text: string) => void} insertText
 * @property {(document: IdeDocument) => void} showDocument
 * @property {() => void} focusEditor
 * @property {(offset: number) => void} goTo
 * @property {(id: string, detail?: unknown) => void} showPanel
 * @property {(message: string, severity: "error" | "info") => void} notify
 */

export class Workspace {
  facts;
  /** @type {SchemaState} */
  schemaState = { status: "loading", schema: null, message: "" };
  /** @type {Analysis | null} */
  analysis = null;
  /** @type {OperationChoice | null} */
  operation = null;
  /** The cost of the chosen operation by the last dry run, null if it is not known. @type {Cost | null} */
  cost = null;
  #events = new Emitter();
  #dryRuns = new DryRunQueue((request, options) => this.send(request, options));
  #documents;
  #session;
  /** @type {PageParts | null} */
  #page = null;
  /** @type {OperationRunner | null} */
  #runner = null;

  /**
   * @param {Facts} facts
   * @param {IdeSession} session
   * @param {Documents} documents
   */
  constructor(facts, session, documents) {
    this.facts = facts;
    this.#session = session;
    this.#documents = documents;
    documents.onMerge = () => this.#show(this.document);
    documents.onOverflow = (closed) => {
      this.notify(`Closed the oldest tab, “${titleOf(closed)}”: at most ${MAX_DOCUMENTS} documents are open.`);
    };
    session.onChange = (ended) => {
      if (ended) {
        this.stop();
        documents.forgetSecrets();
        this.#show(this.document);
        this.emit("logout");
      }
      this.emit("session", this.session);
    };
  }

  /**
   * @param {PageParts} page
   * @param {OperationRunner} runner
   */
  attach(page, runner) {
    this.#page = page;
    this.#runner = runner;
  }

  /**
   * Call a function with the payload of each event of a name.
   * @param {string} event
   * @param {(payload: any) => void} listener
   */
  on(event, listener) {
    this.#events.on(event, listener);
  }

  /**
   * @param {string} event
   * @param {unknown} [payload]
   */
  emit(event, payload) {
    this.#events.emit(event, payload);
  }

  get applicationId() {
    return this.facts.applicationId;
  }

  get document() {
    return this.#documents.active;
  }

  get documents() {
    return this.#documents.list;
  }

  /** The schema, or null if it is not known. */
  get schema() {
    return this.schemaState.schema;
  }

  /** The session of the page, or null. */
  get session() {
    return this.#session.current;
  }

  /**
   * Open a document in a tab, or activate the tab that has the same texts. It never runs by itself.
   * @param {NewDocument} wanted
   */
  openDocument(wanted) {
    return this.#show(this.#documents.open(wanted));
  }

  openEmptyDocument() {
    return this.#show(this.#documents.openEmpty());
  }

  /** @param {string} id */
  activateDocument(id) {
    this.#documents.activate(id);
    return this.#show(this.document);
  }

  /** @param {string} id */
  closeDocument(id) {
    this.#documents.close(id);
    return this.#show(this.document);
  }

  /** @param {IdeDocument} shown */
  #show(shown) {
    this.#page?.showDocument(shown);
    this.emit("documents", this.documents);
    this.emit("edit", shown);
    return shown;
  }

  /**
   * Change texts of the active document as its editors do.
   * @param {Partial<Pick<IdeDocument, "text" | "variables" | "headers" | "operationName">>} texts
   */
  edit(texts) {
    this.#documents.change(texts);
    this.emit("edit", this.document);
  }

  /** Replace the text of the active document, so that the browser can undo it. @param {string} text */
  replaceText(text) {
    this.#page?.replaceText(text);
  }

  /** Insert a text at the caret. @param {string} text */
  insertText(text) {
    this.#page?.insertText(text);
  }

  /** @param {string} text  JSON. */
  setVariables(text) {
    this.edit({ variables: text });
    this.#page?.showDocument(this.document);
  }

  focusEditor() {
    this.#page?.focusEditor();
  }

  /** Move the caret to an offset of the document. @param {number} offset */
  goTo(offset) {
    this.#page?.goTo(offset);
  }

  /** Choose the operation that runs. @param {string | null} name */
  chooseOperation(name) {
    this.edit({ operationName: name });
  }

  /** The headers of a request: those of the session, and over them those of the active document. */
  requestHeaders() {
    const own = parseHeaders(this.document.headers).headers;
    const names = new Set(Object.keys(own).map((name) => name.toLowerCase()));
    /** @type {Record<string, string>} */
    const headers = {};
    const isOwn = names.has("token") || names.has("authorization");
    if (this.session && !isOwn) headers.token = this.session.token;
    return { ...headers, ...own };
  }

  /**
   * Return the request of the active document. Throw an Error with a sentence if a part of it is malformed.
   * @returns {CurrentRequest}
   */
  currentRequest() {
    const source = { ...this.document };
    const { text, variables, headers } = source;
    if (!text.trim()) throw new Error("The document is empty. Write an operation, or open one of the guides.");
    const parsed = parseJson(variables);
    if (parsed.problems.length) throw new Error(`The variables are not JSON: ${parsed.problems[0].message}`);
    if (parsed.value === null || typeof parsed.value !== "object" || Array.isArray(parsed.value)) {
      throw new Error("Write the variables as a JSON object, such as {\"homeId\": \"...\"}.");
    }
    const [problem] = parseHeaders(headers).problems;
    if (problem) throw new Error(problem.message);
    const sent = this.requestHeaders();
    return {
      query: text, variables: /** @type {any} */ (parsed.value), operationName: this.operation?.name ?? null,
      kind: this.operation?.kind ?? "query", headers: sent, source,
      usesSession: this.session !== null && sent.token === this.session.token,
    };
  }

  /**
   * Send a request with the headers of the active document. Throw a GatewayError only if no response arrives.
   * @param {GraphQLRequest} request
   * @param {{ signal?: AbortSignal, headers?: Record<string, string> }} [options]
   * @returns {Promise<GraphQLResponse>}
   */
  send(request, { signal, headers = this.requestHeaders() } = {}) {
    return sendRequest(request, headers, signal);
  }

  /**
   * Ask the gateway what a request costs and whether it is valid. All dry runs share one queue.
   * @param {GraphQLRequest} request
   * @param {Partial<DryRunOptions>} [options]
   */
  dryRun(request, { headers = this.requestHeaders(), ...options } = {}) {
    return this.#dryRuns.ask(request, { headers, ...options });
  }

  /** @param {Cost | null} cost */
  setCost(cost) {
    this.cost = cost;
    this.emit("cost", cost);
  }

  /** Whether an operation is under way, of any document. */
  get isRunning() {
    return this.#runner?.isRunning ?? false;
  }

  /** Run the chosen operation of the active document. */
  run() {
    return this.#runner?.run();
  }

  /** Run a request, whatever document is active. @param {CurrentRequest} request */
  start(request) {
    return this.#runner?.start(request);
  }

  stop() {
    this.#runner?.stop();
  }

  /** Load the schema. Without introspection, the state says what to do. */
  async loadSchema() {
    this.setSchema({ status: "loading", schema: this.schema, message: "" });
    this.setSchema(await loadSchema((request) => this.send(request)));
  }

  /** @param {SchemaState} state */
  setSchema(state) {
    this.schemaState = state;
    this.emit("schema", state);
  }

  /**
   * Log in. Throw a GatewayError if the gateway refuses.
   * @param {{ username: string, password: string, code?: string }} credentials
   */
  async logIn(credentials) {
    if (!this.applicationId) throw new GatewayError("The page knows no application. Name one in its address: /graphql?application=ID.");
    await this.#session.logIn({ ...credentials, applicationId: this.applicationId });
  }

  logOut() {
    this.#session.logOut();
  }

  /** Open the dialog to log in. @param {string} [reason] */
  askToLogIn(reason = "") {
    this.#session.ask(reason);
  }

  /**
   * Show a panel. The panel gets the detail.
   * @param {string} id
   * @param {unknown} [detail]
   */
  showPanel(id, detail) {
    this.#page?.showPanel(id, detail);
  }

  /**
   * Show a short message, which screen readers read out.
   * @param {string} message
   * @param {{ severity?: "error" | "info" }} [options]
   */
  notify(message, { severity = "info" } = {}) {
    this.#page?.notify(message, severity);
  }
}
