/**
 * Asks the gateway while somebody types whether the operation is valid, and what it costs. A dry run executes nothing, and
 * is free up to 4 KiB. It waits for a pause in the typing, asks once for each request, and never more often than every
 * second. It stops for as long as the gateway says if a limit is reached.
 */

import { parseJson } from "./language/json.js";

/** @import { Analysis } from "./analysis.js" */
/** @import { Workspace } from "./workspace.js" */

/** Milliseconds without a change before a request. */
export const PAUSE = 500;
/** Milliseconds between two requests; without credentials, addresses may send fewer documents. */
export const LEAST_INTERVAL = 1_000;
export const ANONYMOUS_INTERVAL = 3_000;
/** Characters of a request that the gateway checks without a charge. */
export const MAX_FREE = 4_000;
const DEFAULT_WAIT = 60;

export class DryRun {
  #workspace;
  #timer = 0;
  #lastKey = "";
  #notBefore = 0;
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
    const wait = Math.max(PAUSE, this.#notBefore - Date.now());
    this.#timer = setTimeout(() => this.#ask(request, key), wait);
  }

  #forget() {
    this.#running?.abort();
    this.#lastKey = "";
    this.#workspace.emit("cost", null);
  }

  /** @param {Analysis} analysis */
  #request({ text, isSyntaxRight, problems }) {
    const { operation, document: { variables } } = this.#workspace;
    if (!isSyntaxRight || problems.length || !operation) return null;
    const parsed = parseJson(variables);
    if (parsed.problems.length || text.length + variables.length > MAX_FREE) return null;
    return {
      query: text, variables: /** @type {any} */ (parsed.value), operationName: operation.name, extensions: { dryRun: true },
    };
  }

  /**
   * @param {import("./requests.js").GraphQLRequest} request
   * @param {string} key
   */
  async #ask(request, key) {
    const controller = new AbortController();
    this.#running = controller;
    this.#lastKey = key;
    const headers = this.#workspace.requestHeaders();
    const isAnonymous = !headers.token && !Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
    this.#notBefore = Date.now() + (isAnonymous ? ANONYMOUS_INTERVAL : LEAST_INTERVAL);
    try {
      const { status, body, headers: received } = await this.#workspace.send(request, { headers, signal: controller.signal });
      if (controller.signal.aborted) return;
      if (status === 429 || status === 503) {
        this.#notBefore = Date.now() + 1000 * (Number(received["retry-after"]) || DEFAULT_WAIT);
        return;
      }
      this.#workspace.emit("dry-run", { errors: body?.errors ?? [], status });
      const cost = body?.extensions?.cost;
      this.#workspace.emit("cost", cost ? { ...cost, ...readWindow(received["ratelimit-policy"]) } : null);
    } catch {
      // The gateway cannot be reached. A run says so; the next change asks again.
      this.#lastKey = "";
    }
  }
}

/**
 * Return the seconds in which the budget refills, from the header `RateLimit-Policy`.
 * @param {string} [policy]
 * @returns {{ window?: number }}
 */
function readWindow(policy = "") {
  const found = /;\s*w=(\d+)/.exec(policy);
  return found ? { window: Number(found[1]) } : {};
}
