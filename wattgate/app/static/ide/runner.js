/** Runs the active operation, and reports what comes back as events of the workspace. */

import { toGatewayError } from "../shared/gateway.js";

/** @import { Subscribe, Workspace } from "./workspace.js" */

export class Runner {
  /** @type {(() => void) | null} */
  #stop = null;
  #workspace;
  #subscribe;

  /**
   * @param {Workspace} workspace
   * @param {Subscribe | null} subscribe
   */
  constructor(workspace, subscribe) {
    this.#workspace = workspace;
    this.#subscribe = subscribe;
  }

  get isRunning() {
    return this.#stop !== null;
  }

  stop() {
    this.#stop?.();
  }

  /** Run the chosen operation. A run that is under way is stopped before. */
  async run() {
    this.stop();
    let request;
    try {
      request = this.#workspace.currentRequest();
    } catch (thrown) {
      this.#workspace.emit("refused", toGatewayError(thrown).message);
      return;
    }
    if (this.#workspace.operation?.kind === "subscription") this.#runSubscription(request);
    else await this.#runOnce(request);
  }

  /** @param {import("./workspace.js").CurrentRequest} request */
  async #runOnce(request) {
    const controller = new AbortController();
    this.#begin(request, () => controller.abort());
    try {
      const { query, variables, operationName, headers } = request;
      const response = await this.#workspace.send({ query, variables, operationName }, { headers, signal: controller.signal });
      if (!controller.signal.aborted) this.#end("response", { request, ...response });
    } catch (thrown) {
      if (!controller.signal.aborted) this.#end("refused", toGatewayError(thrown).message);
    }
    if (controller.signal.aborted) this.#workspace.emit("stopped", request);
  }

  /** @param {import("./workspace.js").CurrentRequest} request */
  #runSubscription(request) {
    if (!this.#subscribe) {
      this.#workspace.emit("refused", "This page cannot run subscriptions.");
      return;
    }
    let isOpen = true;
    /** @type {(type: string, value?: unknown) => void} */
    const report = (type, value) => {
      if (isOpen) this.#workspace.emit("subscription", { type, request, value });
    };
    const close = () => {
      if (isOpen) this.#end("idle", request);
      isOpen = false;
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
   * @param {import("./workspace.js").CurrentRequest} request
   * @param {() => void} stop
   */
  #begin(request, stop) {
    this.#stop = () => {
      this.#stop = null;
      stop();
    };
    this.#workspace.emit("run", { request, startedAt: performance.now() });
  }

  /**
   * @param {string} event
   * @param {unknown} payload
   */
  #end(event, payload) {
    this.#stop = null;
    this.#workspace.emit(event, payload);
  }
}
