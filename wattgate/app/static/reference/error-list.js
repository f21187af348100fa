/** The errors of the interface: those that an operation can have, and the explanation of each code. */

import { element, prose } from "../shared/dom.js";
import { ERROR_CODES } from "./error-codes.js";

/** @import { Operation, Reference } from "./openapi.js" */

/**
 * Create the list of the errors that an operation can have.
 * @param {Operation} operation
 * @returns {HTMLElement | null}
 */
export function operationErrors({ errorResponses }) {
  const rows = errorResponses.flatMap(({ status, codes }) => codes.map((name) => errorRow(status, name)));
  if (rows.length === 0) return null;
  return element(
    "section",
    { class: "part" },
    element("h4", {}, "Errors", " ", element("small", {}, element("a", { href: "#errors" }, "Error format"))),
    element("ul", { class: "errors", "data-testid": "errors" }, rows),
  );
}

/**
 * @param {string} status
 * @param {string} name
 */
function errorRow(status, name) {
  // A zero-width space after each underscore lets long error codes wrap.
  const shown = name.replaceAll("_", "_\u200B");
  const target = name in ERROR_CODES ? element("a", { href: `#error-${name}` }, shown) : element("span", {}, shown);
  return element("li", {}, element("b", {}, status), " ", target);
}

/**
 * Create the explanations of all error codes that the operations of the document can have.
 * @param {Reference} reference
 * @returns {HTMLElement}
 */
export function errorExplanations({ operations }) {
  const statuses = new Map(
    operations.flatMap(({ errorResponses }) =>
      errorResponses.flatMap(({ status, codes }) => codes.map((name) => /** @type {[string, string]} */ ([name, status]))),
    ),
  );
  const shown = Object.entries(ERROR_CODES).filter(([name]) => statuses.has(name));
  return element(
    "dl",
    { class: "error-codes" },
    shown.map(([name, { cause, action }]) =>
      element(
        "div",
        { id: `error-${name}`, tabindex: "-1" },
        element("dt", {}, element("code", {}, name), " ", element("small", {}, statuses.get(name) ?? "")),
        element("dd", {}, prose(cause), " ", prose(action)),
      ),
    ),
  );
}
