/** Requests of the IDE over HTTP, and the facts about each response. */

import { GatewayError } from "../shared/gateway.js";

export const ENDPOINT = "/graphql";

/**
 * @typedef {object} GraphQLRequest
 * @property {string} [query]
 * @property {string} [documentId]  A trusted document, in place of the text.
 * @property {Record<string, unknown>} [variables]
 * @property {string | null} [operationName]
 * @property {Record<string, unknown>} [extensions]
 */

/**
 * `body` is undefined if the response is not JSON. `bytes` is the size of the text after decompression.
 * @typedef {object} GraphQLResponse
 * @property {number} status
 * @property {Record<string, string>} headers
 * @property {any} body
 * @property {string} text
 * @property {number} milliseconds
 * @property {number} bytes
 */

/**
 * Send a request. Throw a GatewayError if no response arrives, and what the signal says if it ends the request.
 * @param {GraphQLRequest} request
 * @param {Record<string, string>} headers
 * @param {AbortSignal} [signal]
 * @returns {Promise<GraphQLResponse>}
 */
export async function sendRequest({ query, documentId, variables, operationName, extensions }, headers, signal) {
  const body = JSON.stringify({
    ...(documentId ? { documentId } : { query }),
    ...(variables && { variables }),
    ...(operationName && { operationName }),
    ...(extensions && { extensions }),
  });
  const started = performance.now();
  try {
    const response = await fetch(ENDPOINT, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/graphql-response+json, application/json", ...headers },
      body,
      signal,
      credentials: "omit",
      cache: "no-store",
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: parse(text),
      text,
      milliseconds: performance.now() - started,
      bytes: new Blob([text]).size,
    };
  } catch (thrown) {
    if (signal?.aborted) throw thrown;
    throw new GatewayError("The gateway cannot be reached. Check the connection, and that the gateway runs.", "UNREACHABLE");
  }
}

/** @param {string} text */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
