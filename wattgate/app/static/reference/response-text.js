/** The facts of a response as text: its time and size, its budget, and what to do about an error. */

/** @typedef {{ remaining: string, reset: string }} Budget */

/**
 * Return the budget of the headers of a response, or null if they have none.
 * @param {Headers} headers
 * @returns {Budget | null}
 */
export function readBudget(headers) {
  const remaining = /;\s*r=(\d+)/.exec(headers.get("RateLimit") ?? "")?.[1];
  if (remaining === undefined) return null;
  const seconds = /;\s*t=(\d+)/.exec(headers.get("RateLimit") ?? "")?.[1];
  const limit = /;\s*q=(\d+)/.exec(headers.get("RateLimit-Policy") ?? "")?.[1];
  const of = limit ? ` of ${formatCount(limit)}` : "";
  return { remaining: `${formatCount(remaining)}${of}`, reset: seconds ? `full in ${seconds} s` : "" };
}

/**
 * Return a length of time in words.
 * @param {number} milliseconds
 * @returns {string}
 */
export function formatDuration(milliseconds) {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

/**
 * Return a number of bytes in words.
 * @param {number} bytes
 * @returns {string}
 */
export function formatSize(bytes) {
  if (bytes < 1000) return bytes === 1 ? "1 byte" : `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
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
  return status === 401 && credential === "token" && code !== "SECOND_FACTOR_REQUIRED";
}

/** @param {string} digits */
function formatCount(digits) {
  return Number(digits).toLocaleString("en-GB");
}
