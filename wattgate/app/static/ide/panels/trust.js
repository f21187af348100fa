/** The commands that register a document as trusted, and its digest. */

import { quoteForShell } from "../../shared/shell.js";

/**
 * Return the SHA-256 of a text in hexadecimal. Null if the browser cannot compute it: the page came by http.
 * @param {string} text
 * @returns {Promise<string | null>}
 */
export async function digestOf(text) {
  if (!globalThis.crypto?.subtle) return null;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Return the name of the file for a document.
 * @param {string | null} name  Of its operation.
 * @param {string} kind
 * @returns {string}
 */
export function fileName(name, kind) {
  return `${name ?? kind}.graphql`;
}

/**
 * Return the commands that check and register a file.
 * @param {string} file
 * @param {string} applicationId
 * @returns {string}
 */
export function registerCommands(file, applicationId) {
  const command = `wattgate documents register ${wordOf(file)} --application ${wordOf(applicationId || "APPLICATION")}`;
  return `${command} --dry-run\n${command}`;
}

/** @param {string} text */
function wordOf(text) {
  return /^[\w.-]+$/.test(text) ? text : quoteForShell(text);
}

/**
 * Return the body of a request that sends the ID of a document instead of its text.
 * @param {string} digest
 * @param {Record<string, unknown>} variables
 * @param {string | null} operationName  Null if the document has one operation.
 * @returns {string}
 */
export function bodyById(digest, variables, operationName) {
  return JSON.stringify({ documentId: `sha256:${digest}`, ...(operationName && { operationName }), variables }, null, 2);
}
