/** The same request in GraphQL: a document that runs as it is, its variables, and a link that opens it in the IDE. */

import { code, element } from "../shared/dom.js";
import { codeBlock, jsonBlock } from "./code-block.js";

/** @import { Operation, Twin } from "./openapi.js" */

/**
 * Return the link that opens a document in the IDE. The page there runs nothing by itself.
 * @param {Twin} twin
 * @returns {string}
 */
export function ideLink({ document: text, variables }) {
  const given = Object.keys(variables).length ? `&variables=${encodeURIComponent(JSON.stringify(variables, null, 2))}` : "";
  return `/graphql#document=${encodeURIComponent(text)}${given}`;
}

/**
 * Create the part of an operation about GraphQL, or null if it has no field there.
 * @param {Operation} operation
 * @param {boolean} hasIde
 * @returns {HTMLElement | null}
 */
export function twinPart({ graphqlField, twin }, hasIde) {
  if (!graphqlField) return null;
  const heading = element("h4", {}, "In GraphQL", " ", element("small", {}, code(graphqlField)));
  if (!twin) return element("section", { class: "part" }, heading);
  const link = hasIde ? element("a", { href: ideLink(twin), "data-testid": "open-in-ide" }, "Open in the IDE") : null;
  return element(
    "section",
    { class: "part twin", "data-testid": "twin" },
    heading,
    codeBlock("Document", twin.document, twin.document, link),
    Object.keys(twin.variables).length ? jsonBlock("Variables", twin.variables) : null,
  );
}
