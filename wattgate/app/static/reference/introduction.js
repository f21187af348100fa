/** The top of the page: the interface, its base URL, how to authenticate, and the format of errors. */

import { element, find, prose } from "../shared/dom.js";
import { codeBlock } from "./code-block.js";
import { schemeLabel } from "./operation-card.js";
import { schemaTree } from "./tree.js";

/** @import { Reference, SecurityScheme } from "./openapi.js" */

/**
 * Fill the introduction.
 * @param {HTMLElement} root
 * @param {Reference} reference
 */
export function showIntroduction(root, reference) {
  /** @param {string} name */
  const part = (name) => find(root, `.${name}`);
  part("version").textContent = reference.info.version;
  part("description").replaceChildren(...prose(reference.info.description ?? ""));
  find(part("base"), "code").textContent = reference.baseUrl;
  part("base").hidden = false;
  part("schemes").replaceChildren(
    ...Object.entries(reference.schemes).map(([name, scheme]) => schemeCard(name, scheme, reference)),
  );
  if (reference.errorSchema) part("error-format").replaceChildren(schemaTree(reference.errorSchema, reference));
  else part("error-section").hidden = true;
}

/**
 * @param {string} name
 * @param {SecurityScheme} scheme
 * @param {Reference} reference
 */
function schemeCard(name, scheme, { operations }) {
  const login = operations.find(({ method, path }) => `${scheme.description} `.includes(`${method} ${path}.`));
  return element(
    "div",
    { class: "scheme" },
    element("h3", {}, capitalise(schemeLabel(scheme, name))),
    element(
      "p",
      {},
      prose(scheme.description ?? ""),
      login ? [" ", element("a", { href: `#${login.id}` }, "How to get one")] : null,
    ),
    codeBlock("Header", headerOf(scheme)),
  );
}

/** @param {SecurityScheme} scheme */
function headerOf({ type, name, scheme }) {
  if (type === "apiKey") return `${name}: <${name}>`;
  return `Authorization: ${capitalise(scheme ?? "")} base64(username:password)`;
}

/** @param {string} text */
function capitalise(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
