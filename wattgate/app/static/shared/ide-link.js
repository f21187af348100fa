/** Links that open a document in the IDE: `/graphql#document=...&variables=...&title=...`. A link never runs anything. */

/** @import { NewDocument } from "../ide/documents.js" */

const MAX_LENGTH = 100_000;

/**
 * Return the document in the fragment of an address, or null if it has none.
 * @param {string} hash
 * @returns {NewDocument | null}
 */
export function readLink(hash) {
  if (hash.length > MAX_LENGTH) return null;
  const parameters = new URLSearchParams(hash.replace(/^#/, ""));
  const text = parameters.get("document") ?? parameters.get("query");
  if (!text) return null;
  // Headers are left out on purpose: a link of somebody else must not choose the account that a run acts for.
  return { text, variables: prettify(parameters.get("variables") ?? ""), title: (parameters.get("title") ?? "").slice(0, 60) };
}

/**
 * Return the address that opens a document.
 * @param {NewDocument} wanted
 */
export function writeLink({ text, variables = "", title = "" }) {
  const parameters = new URLSearchParams({ document: text });
  if (variables.trim()) parameters.set("variables", variables);
  if (title) parameters.set("title", title);
  return `/graphql#${parameters}`;
}

/** @param {string} json */
function prettify(json) {
  try {
    return json.trim() ? JSON.stringify(JSON.parse(json), null, 2) : "";
  } catch {
    return json;
  }
}
