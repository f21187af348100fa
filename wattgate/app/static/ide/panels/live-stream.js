/**
 * The subscription that runs: its connection, its payloads, and its last position. It continues after that position
 * when the link was lost, when the token has been renewed, and when the user resumes.
 */

import { Connection } from "../../shared/connection.js";
import { TimerQueue } from "../../shared/timer-queue.js";
import { explainClose } from "./close-reasons.js";
import { canResume, requestSince } from "./resume.js";
import { StreamLog } from "./stream-log.js";

/** @import { ConnectionState, Payload, ReceivedError } from "../../shared/connection.js" */
/** @import { CurrentRequest, SubscriptionSink, Workspace } from "../workspace.js" */

/** @typedef {ConnectionState | "idle" | "expired" | "failed" | "complete" | "stopped"} StreamState */

/** @type {Readonly<Record<StreamState, string>>} */
export const STATE_TEXTS = Object.freeze({
  idle: "No subscription has run yet.",
  connecting: "Connecting",
  live: "Live",
  reconnecting: "The link is lost. Connecting again",
  offline: "This device is offline. The page connects when it is back",
  displaced: "Waiting: newer connections have replaced this one",
  outdated: "The gateway rejected the subscription",
  withheld: "The data is withheld",
  expired: "The token has expired. Log in to continue",
  failed: "The subscription failed",
  complete: "The gateway has completed the subscription",
  stopped: "Stopped",
});

const OTHER_CALLER = "Another account has logged in, so the subscription has ended. Run it again to see the data of that account.";
const CREDENTIALS = /^(?:token|authorization|applicationid|userid)$/i;

export class LiveStream {
  log = new StreamLog();
  /** @type {StreamState} */
  state = "idle";
  /** Why the connection was closed last, empty while it is live. */
  reason = "";
  /** @type {string | null} */
  position = null;
  /** Whether the last connection continued without a loss; null if it did not continue. @type {boolean | null} */
  recovered = null;
  /** @type {() => void} */
  onChange = () => {};
  #timers = new TimerQueue();
  #connection;
  /** @type {CurrentRequest | null} */
  #request = null;
  /** @type {SubscriptionSink | null} */
  #sink = null;
  /** @type {Workspace | null} */
  #workspace = null;
  /** The account of the session with which the subscription began, null if it is not known. @type {string | null} */
  #account = null;

  constructor() {
    this.#connection = new Connection(this.#timers, () => this.#credentials(), {
      onPayload: (payload) => this.#receive(payload),
      onState: (state) => this.#setState(state),
      onTokenNeeded: () => this.#askForToken(),
      onRejected: (code, errors) => this.#fail(errors, code),
      onComplete: () => this.#end("complete", (sink) => sink.complete()),
      onClosed: (code) => { this.reason = explainClose(code); },
    });
  }

  /** Whether a subscription is under way. */
  get isRunning() {
    return this.#sink !== null;
  }

  /** Whether the last subscription can continue after its last position. It needs the tab of its document. */
  get canResume() {
    const request = this.#request;
    const isOpen = request !== null && this.#workspace?.documents.some(({ id }) => id === request.source.id);
    return Boolean(this.position && isOpen && canResume(request));
  }

  /** @param {Workspace} workspace */
  attach(workspace) {
    this.#workspace = workspace;
    workspace.on("session", () => this.#followSession());
    workspace.on("documents", () => this.onChange());
    workspace.on("logout", () => this.#forget());
  }

  /** Run the last subscription from its last position, whatever document is active. */
  resume() {
    if (!this.isRunning && this.canResume && this.#request) void this.#workspace?.start(this.#request);
  }

  /** Forget the last subscription, because its data is of an account that is no longer logged in. */
  #forget(reason = "") {
    this.#request = null;
    this.position = null;
    this.reason = reason;
    this.log.clear();
    this.onChange();
  }

  /** Continue with the token of a new log-in of the same account. End the subscription if another account has logged in. */
  #followSession() {
    const [workspace, request] = [this.#workspace, this.#request];
    const session = workspace?.session;
    // A subscription with credentials of its own keeps them.
    if (!session || !request?.usesSession || request.headers.token === session.token) return;
    if (this.#account && this.#account === session.account) {
      this.#request = { ...request, headers: { ...request.headers, token: session.token } };
      if (this.isRunning) this.#connection.sendToken(session.token);
    } else {
      if (this.isRunning) this.#fail([{ message: OTHER_CALLER }], undefined);
      this.#forget(OTHER_CALLER);
    }
  }

  /**
   * Run a subscription.
   * @param {CurrentRequest} request
   * @param {SubscriptionSink} sink
   * @returns {{ stop(): void }}
   */
  start(request, sink) {
    if (request !== this.#request) {
      this.position = null;
      this.log.clear();
      const session = this.#workspace?.session;
      this.#account = session?.token === request.headers.token ? (session?.account ?? null) : null;
    }
    this.#request = request;
    this.#sink = sink;
    this.recovered = null;
    this.reason = "";
    this.#connection.open(() => this.#nextRequest());
    return { stop: () => this.#stop() };
  }

  #nextRequest() {
    const { query, variables, operationName } = requestSince(/** @type {CurrentRequest} */ (this.#request), this.position || null);
    return { query, variables, ...(operationName && { operationName }) };
  }

  #credentials() {
    const headers = Object.entries(this.#request?.headers ?? {});
    return Object.fromEntries(headers.filter(([name]) => CREDENTIALS.test(name)));
  }

  #stop() {
    this.#connection.close();
    this.#timers.clear();
    this.#sink = null;
    this.#setState("stopped");
  }

  /** @param {Payload} payload */
  #receive(payload) {
    const { position, recovered } = payload.extensions ?? {};
    if (position) this.position = position;
    if (recovered !== undefined) this.recovered = recovered;
    this.reason = "";
    this.log.add(payload, Date.now());
    this.#sink?.next(payload);
    this.onChange();
    return true;
  }

  /** @param {StreamState} state */
  #setState(state) {
    this.state = state;
    if (state !== "outdated") this.#sink?.status([STATE_TEXTS[state], this.reason].filter(Boolean).join(". "));
    this.onChange();
  }

  #askForToken() {
    if (!this.#connection.isLive) this.state = "expired";
    this.#sink?.status(STATE_TEXTS.expired);
    this.onChange();
    if (this.#request?.usesSession) this.#workspace?.askToLogIn("The token of the running subscription has expired.");
    else if (!this.#connection.isLive) this.#fail([{ message: `${STATE_TEXTS.expired}: write new credentials under Headers.` }], "UNAUTHENTICATED");
  }

  /**
   * @param {ReceivedError[]} errors
   * @param {string | undefined} code
   */
  #fail(errors, code) {
    const message = errors.map((error) => error.message).filter(Boolean).join(" ") || this.reason || STATE_TEXTS.outdated;
    this.reason = code ? `${code}: ${message}` : message;
    this.#end("failed", (sink) => sink.error(this.reason));
  }

  /**
   * @param {StreamState} state
   * @param {(sink: SubscriptionSink) => void} report
   */
  #end(state, report) {
    const sink = this.#sink;
    this.#connection.close();
    this.#sink = null;
    this.state = state;
    if (sink) report(sink);
    this.onChange();
  }
}
