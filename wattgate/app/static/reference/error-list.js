/** The errors that an operation can have, each with a link to its cause and fix. */

import { element } from "../shared/dom.js";
import { ERROR_CODES } from "./error-codes.js";

/** @import { Operation } from "./openapi.js" */

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
  const target = name in ERROR_CODES ? element("a", { href: errorPage(name) }, shown) : element("span", {}, shown);
  return element("li", {}, element("b", {}, status), " ", target);
}

/**
 * Return the address of the page about an error code.
 * @param {string} name
 * @returns {string}
 */
export function errorPage(name) {
  return `/errors#${name}`;
}
