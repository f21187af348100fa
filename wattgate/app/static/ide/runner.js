/** Runs operations, one at a time, and reports what comes back as events of the workspace. */

import { toGatewayError } from "../shared/gateway.js";

/** @import { CurrentRequest, Subscribe, Workspace } from "./workspace.js" */

export class Runner {
  /** @type {{ request: CurrentRequest, stop: () => void } | null} */
  #running = null;
  #workspace;
  #subscribe;

  /**
   * @param {Workspace} workspace
   * @param {Subscribe} subscribe
   */
  constructor(workspace, subscribe) {
    this.#workspace = workspace;
    this.#subscribe = subscribe;
    workspace.on("documents", (documents) => {
      const source = this.#running?.request.source;
      if (source && !documents.some((/** @type {{ id: string }} */ { id }) => id === source.id)) this.stop();
    });
  }

  get isRunning() {
    return this.#running !== null;
  }

  stop() {
    const running = this.#running;
    this.#running = null;
    running?.stop();
  }

  /** Run the chosen operation of the active document. A run that is under way is stopped before. */
  async run() {
    this.stop();
    let request;
    try {
      request = this.#workspace.currentRequest();
    } catch (thrown) {
      this.#refuse(this.#workspace.document.id, thrown, false);
      return;
    }
    await this.start(request);
  }

  /**
   * Run a request, whatever document is active. A run that is under way is stopped before.
   * @param {CurrentRequest} request
   */
  async start(request) {
    this.stop();
    if (request.kind === "subscription") this.#runSubscription(request);
    else await this.#runOnce(request);
  }

  /** @param {CurrentRequest} request */
  async #runOnce(request) {
    const controller = new AbortController();
    this.#begin(request, () => {
      controller.abort();
      this.#workspace.emit("stopped", request);
    });
    try {
      const { query, variables, operationName, headers } = request;
      const response = await this.#workspace.send({ query, variables, operationName }, { headers, signal: controller.signal });
      if (controller.signal.aborted) return;
      this.#running = null;
      this.#workspace.emit("response", { request, ...response });
    } catch (thrown) {
      if (controller.signal.aborted) return;
      this.#running = null;
      this.#refuse(request.source.id, thrown, true);
    }
  }

  /** @param {CurrentRequest} request */
  #runSubscription(request) {
    let isOpen = true;
    /** @type {(type: string, value?: unknown) => void} */
    const report = (type, value) => {
      if (isOpen) this.#workspace.emit("subscription", { type, request, value });
    };
    const close = () => {
      if (!isOpen) return;
      isOpen = false;
      this.#running = null;
      this.#workspace.emit("idle", request);
    };
    /** @type {{ stop(): void } | null} */
    let running = null;
    this.#begin(request, () => {
      running?.stop();
      report("stopped");
      close();
    });
    report("start");
    running = this.#subscribe(request, {
      next: (result) => report("next", result),
      status: (text) => report("status", text),
      error: (message) => {
        report("error", message);
        close();
      },
      complete: () => {
        report("complete");
        close();
      },
    });
  }

  /**
   * @param {CurrentRequest} request
   * @param {() => void} stop
   */
  #begin(request, stop) {
    this.#running = { request, stop };
    this.#workspace.emit("run", request);
  }

  /**
   * @param {string} documentId
   * @param {unknown} thrown
   * @param {boolean} wasSent
   */
  #refuse(documentId, thrown, wasSent) {
    this.#workspace.emit("refused", { documentId, message: toGatewayError(thrown).message, wasSent });
  }
}
