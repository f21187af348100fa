/** Sends a request, and reads its response to the end. */

import { fullAddress } from "./request.js";

/** @import { RequestPlan } from "./request.js" */
/** @import { Received } from "./response-view.js" */

const TEXT_MEDIA = /json|^text\/|xml|urlencoded/;

/**
 * Send a request and read its response to the end.
 * @param {RequestPlan} plan
 * @param {File | null} file
 * @param {AbortSignal} signal
 * @returns {Promise<Received>}
 */
export async function receive(plan, file, signal) {
  const start = performance.now();
  const response = await fetch(fullAddress(plan), {
    method: plan.method,
    headers: requestHeaders(plan),
    body: requestBody(plan, file),
    signal,
    cache: "no-store",
    credentials: "omit", // neither cookies nor the log-in window of the browser
  });
  const body = await response.blob();
  const isText = TEXT_MEDIA.test(response.headers.get("Content-Type") ?? "") || body.size === 0;
  const { status, statusText, headers } = response;
  const text = isText ? await body.text() : null;
  return { status, statusText, headers, body, text, duration: performance.now() - start, credential: plan.credential.kind };
}

/** @param {RequestPlan} plan */
function requestHeaders({ headers, credential, body }) {
  const sent = new Headers(headers);
  if (credential.kind === "token") sent.set(credential.header, credential.token ?? "");
  if (credential.kind === "basic") {
    const bytes = new TextEncoder().encode(`${credential.username}:${credential.password}`);
    sent.set("Authorization", `Basic ${btoa(String.fromCharCode(...bytes))}`);
  }
  if (body) sent.set("Content-Type", body.media);
  return sent;
}

/**
 * @param {RequestPlan} plan
 * @param {File | null} file
 */
function requestBody({ body }, file) {
  if (!body) return null;
  if (body.kind === "file") return file;
  return body.kind === "json" ? body.text : new URLSearchParams(body.pairs.filter(([, value]) => value));
}
