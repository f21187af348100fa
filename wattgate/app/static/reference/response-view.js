/** The response of a request: its status, headers, body and error, and what to do about the error. */

import { code, element, prose } from "../shared/dom.js";
import { formatDuration, formatSize } from "../shared/quantities.js";
import { codeBlock, highlight } from "./code-block.js";
import { ERROR_CODES } from "./error-codes.js";
import { errorPage } from "./error-list.js";
import { fileName } from "./request.js";
import { isExpired, readBudget, readError } from "./response-text.js";

/** @import { Child } from "../shared/dom.js" */

/**
 * A response that was read to its end.
 * @typedef {object} Received
 * @property {number} status
 * @property {string} statusText
 * @property {Headers} headers
 * @property {Blob} body
 * @property {string | null} text  Null for a binary body.
 * @property {number} duration  In milliseconds.
 * @property {string} credential  The kind of the credential of the request.
 */

/** Characters of a body that the page shows. The download has all. */
const MAX_SHOWN = 200_000;

/**
 * Create the view of a response.
 * @param {Received} received
 * @param {() => void} onLogin  Called when the user wants to log in again.
 * @returns {{ root: HTMLElement, dispose: () => void }}  `dispose` frees the memory of the download.
 */
export function responseView(received, onLogin) {
  const { status, statusText, headers, body, text, duration, credential } = received;
  const value = parse(text);
  const error = status >= 400 ? readError(value) : null;
  const download = URL.createObjectURL(body);
  const kind = status < 300 ? "success" : status < 500 ? "refused" : "failed";
  const root = element(
    "div",
    { class: "response", "data-kind": kind, "data-testid": "response" },
    element(
      "p",
      { class: "status-line", role: "status" },
      element("strong", { "data-testid": "status" }, `${status} ${statusText}`.trim()),
      ` in ${formatDuration(duration)}, ${formatSize(body.size)}`,
    ),
    isExpired(status, error?.code ?? null, credential) ? expiredNotice(onLogin) : null,
    error ? errorNotice(error) : null,
    headerFacts(headers),
    bodyBlock(received, value, download),
  );
  return { root, dispose: () => URL.revokeObjectURL(download) };
}

/** @param {() => void} onLogin */
function expiredNotice(onLogin) {
  const button = element("button", { type: "button", "data-testid": "log-in-again" }, "Log in again");
  button.addEventListener("click", onLogin);
  return element(
    "div",
    { class: "response-notice", role: "alert", "data-testid": "expired" },
    element("p", {}, "The gateway does not accept the token. It has expired, was revoked, or is not a token of this gateway."),
    button,
  );
}

/** @param {NonNullable<ReturnType<typeof readError>>} error */
function errorNotice({ code: name, message, problems }) {
  const known = name ? ERROR_CODES[name] : undefined;
  return element(
    "div",
    { class: "response-error", "data-testid": "response-error" },
    element("p", {}, name ? [element("strong", {}, name), ": "] : null, message),
    problems.length
      ? element("ul", {}, problems.map(({ path, message: text }) => element("li", {}, path ? [code(path), ": "] : null, text)))
      : null,
    known ? element("p", {}, prose(`${known.cause} ${known.action}`)) : null,
    name && known ? element("p", {}, element("a", { href: errorPage(name) }, `About ${name}`)) : null,
  );
}

/** @param {Headers} headers */
function headerFacts(headers) {
  const budget = readBudget(headers);
  const retryAfter = headers.get("Retry-After");
  /** @type {[string, string | null][]} */
  const facts = [
    ["GraphQL operation", headers.get("x-graphql-operation")],
    ["Budget left", budget && [budget.remaining, budget.reset].filter(Boolean).join(", ")],
    ["Retry after", retryAfter && `${retryAfter} s`],
    ["Trace ID", headers.get("X-Trace-Id")],
    ["Content type", headers.get("Content-Type")],
  ];
  const shown = facts.filter(([, text]) => text);
  return element(
    "dl",
    { class: "response-headers", "data-testid": "response-headers" },
    shown.map(([term, text]) => element("div", {}, element("dt", {}, term), element("dd", {}, text))),
  );
}

/**
 * @param {Received} received
 * @param {unknown} value
 * @param {string} download
 */
function bodyBlock({ headers, body, text }, value, download) {
  const media = headers.get("Content-Type") ?? "";
  const name = text === null ? fileName(media) : value === undefined ? "response.txt" : "response.json";
  const link = element("a", { href: download, download: name, class: "download", "data-testid": "download" }, "Download");
  if (body.size === 0) return element("p", { class: "remark" }, "The response has no body.");
  if (text === null) {
    link.textContent = `Download ${name}`;
    return element("p", {}, "The response is binary. ", link);
  }
  const pretty = value === undefined ? text : JSON.stringify(value, null, 2);
  const isCut = pretty.length > MAX_SHOWN;
  const shown = isCut ? pretty.slice(0, MAX_SHOWN) : pretty;
  return [
    codeBlock("Response body", pretty, value === undefined ? shown : highlight(shown), link),
    isCut ? element("p", { class: "remark" }, "The page shows the beginning of this long body. Download it to read all.") : null,
  ];
}

/**
 * Return the value of a JSON text, or undefined.
 * @param {string | null} text
 * @returns {unknown}
 */
function parse(text) {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}

/**
 * Create the view of a request without a response.
 * @param {string} message
 * @returns {HTMLElement}
 */
export function failureView(message) {
  /** @type {Child} */
  const text = element("p", {}, message);
  return element("div", { class: "response response-notice", role: "alert", "data-testid": "no-response" }, text);
}
