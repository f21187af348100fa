/**
 * Asks the gateway while somebody types whether the operation is valid, and what it costs. A dry run executes nothing, and
 * is free up to 4 KiB. It waits for a pause in the typing, and asks once for each request.
 */

import { readRateLimit } from "../shared/rate-limit.js";
import { parseJson } from "./language/json.js";

/** @import { Analysis } from "./analysis.js" */
/** @import { Workspace } from "./workspace.js" */

/** Milliseconds without a change before a request. */
export const PAUSE = 500;
/** Characters of a request that the gateway checks without a charge. */
export const MAX_FREE = 4_000;

export class DryRun {
  #workspace;
  #timer = 0;
  #lastKey = "";
  /** @type {AbortController | null} */
  #running = null;

  /** @param {Workspace} workspace */
  constructor(workspace) {
    this.#workspace = workspace;
    const ask = () => this.schedule(workspace.analysis);
    workspace.on("session", ask);
    workspace.on("operation", ask);
  }

  /**
   * Ask after a pause, if the syntax is right.
   * @param {Analysis | null} analysis
   */
  schedule(analysis) {
    clearTimeout(this.#timer);
    const request = analysis && this.#request(analysis);
    if (!request) {
      this.#forget();
      return;
    }
    const key = JSON.stringify([request, this.#workspace.requestHeaders()]);
    if (key === this.#lastKey) return;
    this.#forget();
    this.#timer = setTimeout(() => this.#ask(request, key), PAUSE);
  }

  #forget() {
    this.#running?.abort();
    this.#lastKey = "";
    this.#workspace.setCost(null);
  }

  /** @param {Analysis} analysis */
  #request({ text, isSyntaxRight, problems }) {
    const { operation, document: { variables } } = this.#workspace;
    if (!isSyntaxRight || problems.length || !operation) return null;
    const parsed = parseJson(variables);
    if (parsed.problems.length || text.length + variables.length > MAX_FREE) return null;
    return { query: text, variables: /** @type {any} */ (parsed.value), operationName: operation.name };
  }

  /**
   * @param {import("./requests.js").GraphQLRequest} request
   * @param {string} key
   */
  async #ask(request, key) {
    const controller = new AbortController();
    this.#running = controller;
    this.#lastKey = key;
    try {
      const headers = this.#workspace.requestHeaders();
      const received = await this.#workspace.dryRun(request, { headers, signal: controller.signal, isFirst: true });
      if (!received || received.status === 429 || received.status === 503) return;
      const { status, body, headers: { "ratelimit-policy": policy } } = received;
      this.#workspace.emit("dry-run", { errors: body?.errors ?? [], status });
      const cost = body?.extensions?.cost;
      this.#workspace.setCost(cost ? { ...cost, window: readRateLimit(null, policy).window } : null);
    } catch {
      // The gateway cannot be reached. A run says so; the next change asks again.
      this.#lastKey = "";
    }
  }
}
