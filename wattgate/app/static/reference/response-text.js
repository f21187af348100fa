/** The facts of a response as text: its budget, and what to do about an error. */

import { formatCount } from "../shared/quantities.js";
import { readRateLimit } from "../shared/rate-limit.js";

/** @typedef {{ remaining: string, reset: string }} Budget */

/**
 * Return the budget of the headers of a response, or null if they have none.
 * @param {Headers} headers
 * @returns {Budget | null}
 */
export function readBudget(headers) {
  const { remaining, reset, limit } = readRateLimit(headers.get("RateLimit"), headers.get("RateLimit-Policy"));
  if (remaining === null) return null;
  const of = limit ? ` of ${formatCount(limit)}` : "";
  return { remaining: `${formatCount(remaining)}${of}`, reset: reset === null ? "" : `full in ${reset} s` };
}

/**
 * The error of a response.
 * @typedef {{ code: string | null, message: string, problems: { path: string, message: string }[] }} ResponseError
 */

/**
 * Return the error in the body of a response, or null if it has none of the format of the gateway.
 * @param {unknown} body
 * @returns {ResponseError | null}
 */
export function readError(body) {
  if (typeof body !== "object" || body === null || !("error" in body)) return null;
  const { error, code, description, problems } = /** @type {Record<string, any>} */ (body);
  const listed = Array.isArray(problems) ? problems : [];
  return {
    code: typeof code === "string" ? code : null,
    message: [error, description].filter((text) => typeof text === "string" && text).join(". "),
    problems: listed.map(({ path, message }) => ({ path: [path].flat().join("."), message: String(message) })),
  };
}

/**
 * Return whether a response says that the token of the request is no longer valid.
 * @param {number} status
 * @param {string | null} code
 * @param {string} credential  The kind of the credential of the request.
 * @returns {boolean}
 */
export function isExpired(status, code, credential) {
  const isMissingProof = code === "SECOND_FACTOR_REQUIRED" || code === "REAUTHENTICATION_REQUIRED";
  return status === 401 && credential === "token" && !isMissingProof;
}
