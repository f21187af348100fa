/** The target of the hash of the page's address: a search, or an element such as an operation. */

/** @import { Operation } from "./openapi.js" */

const SEARCH = "search=";

/**
 * @typedef {{ kind: "none" } | { kind: "search", query: string } | { kind: "operation", operation: Operation }
 *   | { kind: "other", id: string }} Target
 */

/**
 * Return the target of a hash. Links to ids of earlier documents name the operation of the same method and path.
 * @param {string} hash
 * @param {Operation[]} operations
 * @returns {Target}
 */
export function readHash(hash, operations) {
  const text = decode(hash.replace(/^#/, ""));
  if (!text) return { kind: "none" };
  if (text.startsWith(SEARCH)) return { kind: "search", query: text.slice(SEARCH.length) };
  const operation = operations.find(({ id }) => id === text);
  return operation ? { kind: "operation", operation } : { kind: "other", id: text };
}

/**
 * Return the hash of a search.
 * @param {string} query
 * @returns {string}
 */
export function searchHash(query) {
  return `#${SEARCH}${encodeURIComponent(query)}`;
}

/**
 * Return the words of the name of an operation that does not exist, to search for similar ones.
 * @param {string} id
 * @returns {string}
 */
export function wordsOf(id) {
  return id.replace(/^(get|post|put|patch|delete)(?=[A-Z])/, "").replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
