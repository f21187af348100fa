/**
 * Sends the dry runs of the page: those of the editor, of the panels and of dialogs. They share one interval between two
 * requests, and wait together for as long as the gateway says if a limit is reached.
 */

/** @import { GraphQLRequest, GraphQLResponse } from "./requests.js" */

/** Milliseconds between two requests; without credentials, addresses may send fewer documents. */
export const LEAST_INTERVAL = 1_000;
export const ANONYMOUS_INTERVAL = 3_000;
/** Requests above which the one that waits longest is dropped. */
export const MAX_WAITING = 10;
/** Seconds to wait if the gateway refuses a request without saying how long. */
const DEFAULT_WAIT = 60;

/** @typedef {{ headers: Record<string, string>, signal?: AbortSignal, isFirst?: boolean }} DryRunOptions */
/** @typedef {DryRunOptions & { request: GraphQLRequest, resolve(response: GraphQLResponse | null): void, reject(reason: unknown): void }} Job */

export class DryRunQueue {
  #send;
  /** @type {Job[]} */
  #waiting = [];
  #timer = 0;
  #notBefore = 0;

  /** @param {(request: GraphQLRequest, options: DryRunOptions) => Promise<GraphQLResponse>} send */
  constructor(send) {
    this.#send = send;
  }

  /**
   * Send a dry run when its turn comes. A request that `isFirst` waits for no other one.
   * @param {GraphQLRequest} request
   * @param {DryRunOptions} options
   * @returns {Promise<GraphQLResponse | null>}  Null if the signal or newer requests have ended the wait.
   */
  ask(request, options) {
    if (options.signal?.aborted) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      const job = { ...options, request: { ...request, extensions: { dryRun: true } }, resolve, reject };
      options.signal?.addEventListener("abort", () => this.#drop(job), { once: true });
      if (options.isFirst) this.#waiting.unshift(job);
      else this.#waiting.push(job);
      const oldest = this.#waiting.find(({ isFirst }) => !isFirst);
      if (oldest && this.#waiting.length > MAX_WAITING) this.#drop(oldest);
      this.#schedule();
    });
  }

  /** @param {Job} job */
  #drop(job) {
    this.#waiting = this.#waiting.filter((one) => one !== job);
    job.resolve(null);
  }

  #schedule() {
    clearTimeout(this.#timer);
    const wait = this.#notBefore - Date.now();
    if (!this.#waiting.length) return;
    if (wait > 0) this.#timer = setTimeout(() => this.#schedule(), wait);
    else void this.#sendNext();
  }

  async #sendNext() {
    const job = this.#waiting.shift();
    if (!job) return;
    const { request, headers, signal } = job;
    this.#notBefore = Date.now() + (isAnonymous(headers) ? ANONYMOUS_INTERVAL : LEAST_INTERVAL);
    this.#schedule();
    try {
      const response = await this.#send(request, { headers, signal });
      if (response.status === 429 || response.status === 503) {
        this.#notBefore = Date.now() + 1000 * (Number(response.headers["retry-after"]) || DEFAULT_WAIT);
        this.#schedule();
      }
      job.resolve(signal?.aborted ? null : response);
    } catch (thrown) {
      if (signal?.aborted) job.resolve(null);
      else job.reject(thrown);
    }
  }
}

/** @param {Record<string, string>} headers */
function isAnonymous(headers) {
  return !Object.keys(headers).some((name) => /^(?:token|authorization)$/i.test(name));
}
