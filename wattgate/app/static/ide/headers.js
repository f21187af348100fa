/** The headers of a request, as lines `name: value`: which ones a browser can send, and what the known ones are for. */

/** @import { Problem } from "./language/ast.js" */

/** Headers that the gateway knows, in the order in which they are offered. */
const KNOWN_HEADERS = [
  ["token", "The token of a log-in. It replaces the one of this page."],
  ["applicationId", "The ID of your application, for requests without a token."],
  ["userId", "The user for whom an application acts."],
  ["sharedHomeId", "The home of another user that a member reads, with the own token."],
  ["authorization", "Bearer with a token, or Basic with the credential of an application."],
  ["X-Access-Purpose", "Why the caller reads personal data. The access log keeps it."],
  ["Last-Event-ID", "The position from which an event stream continues."],
  ["traceparent", "The trace to which the request belongs (W3C Trace Context)."],
  ["tracestate", "Data of tracing systems (W3C Trace Context)."],
  ["x-glow-version", "The version of a client. Published clients send it."],
];

/** Headers that a page cannot set: the browser writes or drops them (the Fetch standard, "forbidden request-header"). */
const FORBIDDEN = new Set([
  "accept-charset", "accept-encoding", "access-control-request-headers", "access-control-request-method",
  "access-control-request-private-network", "connection", "content-length", "cookie", "cookie2", "date", "dnt", "expect",
  "host", "keep-alive", "origin", "referer", "set-cookie", "te", "trailer", "transfer-encoding", "upgrade", "via",
]);
const METHOD_HEADERS = new Set(["x-http-method", "x-http-method-override", "x-method-override"]);
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Characters that a header value cannot have: control characters, and those outside of Latin-1. */
const WRONG_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * Parse the lines of headers. Lines that start with `#` are comments.
 * @param {string} text
 * @returns {{ headers: Record<string, string>, problems: Problem[] }}
 */
export function parseHeaders(text) {
  /** A map, because a header can have the name `__proto__`. @type {Map<string, string>} */
  const headers = new Map();
  /** @type {Problem[]} */
  const problems = [];
  let start = 0;
  for (const line of text.split("\n")) {
    const end = start + line.length;
    if (line.trim() && !line.trim().startsWith("#")) {
      const colon = line.indexOf(":");
      const name = (colon < 0 ? line : line.slice(0, colon)).trim();
      const value = colon < 0 ? "" : line.slice(colon + 1).trim();
      const message = findProblem(name, value, colon >= 0, headers.keys());
      if (message) problems.push({ start, end, message });
      else if (value) headers.set(name, value);
    }
    start = end + 1;
  }
  return { headers: Object.fromEntries(headers), problems };
}

/**
 * @param {string} name
 * @param {string} value
 * @param {boolean} hasColon
 * @param {Iterable<string>} before  The names of the headers before it.
 * @returns {string | null}
 */
function findProblem(name, value, hasColon, before) {
  if (!hasColon) return `Write the header as "name: value": "${shorten(name)}" has no colon.`;
  if (!NAME.test(name)) return `"${shorten(name)}" is not the name of a header.`;
  if (isForbidden(name, value)) {
    return `Browsers do not let a page send the header "${name}". Remove it, or run the operation with curl.`;
  }
  if (name.toLowerCase() === "content-type" || name.toLowerCase() === "accept") {
    return `The IDE sets the header "${name}" itself. Remove it.`;
  }
  if (WRONG_VALUE.test(value)) return `The value of "${name}" has a character that headers cannot have.`;
  const isRepeated = [...before].some((other) => other.toLowerCase() === name.toLowerCase());
  return isRepeated ? `The header "${name}" is there already.` : null;
}

/**
 * Return whether browsers refuse to send a header.
 * @param {string} name
 * @param {string} [value]
 */
export function isForbidden(name, value = "") {
  const lower = name.toLowerCase();
  if (FORBIDDEN.has(lower) || lower.startsWith("proxy-") || lower.startsWith("sec-")) return true;
  return METHOD_HEADERS.has(lower) && /^(?:connect|trace|track)$/i.test(value);
}

/**
 * Return the names that complete the start of a line, each with its purpose.
 * @param {string} text
 * @param {number} caret
 * @returns {{ start: number, items: { label: string, insert: string, detail: string }[] } | null}
 */
export function completeHeader(text, caret) {
  const start = text.lastIndexOf("\n", caret - 1) + 1;
  const typed = text.slice(start, caret);
  if (/[:#]/.test(typed)) return null;
  const prefix = typed.trimStart().toLowerCase();
  const hasColon = /^[^\n]*:/.test(text.slice(caret));
  const items = KNOWN_HEADERS.filter(([name]) => name.toLowerCase().includes(prefix));
  return {
    start: caret - prefix.length,
    items: items.map(([label, detail]) => ({ label, insert: hasColon ? label : `${label}: `, detail })),
  };
}

/** @param {string} text */
function shorten(text) {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
