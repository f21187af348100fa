/** The same request in GraphQL: a document that runs as it is, its variables, and a link that opens it in the IDE. */

import { code, element } from "../shared/dom.js";
import { writeLink } from "../shared/ide-link.js";
import { codeBlock, jsonBlock } from "./code-block.js";

/** @import { Operation } from "./openapi.js" */

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
  const variables = Object.keys(twin.variables).length ? JSON.stringify(twin.variables) : "";
  const ideLink = writeLink({ text: twin.document, variables });
  const link = hasIde ? element("a", { href: ideLink, "data-testid": "open-in-ide" }, "Open in the IDE") : null;
  return element(
    "section",
    { class: "part twin", "data-testid": "twin" },
    heading,
    codeBlock("Document", twin.document, twin.document, link),
    variables ? jsonBlock("Variables", twin.variables) : null,
  );
}
