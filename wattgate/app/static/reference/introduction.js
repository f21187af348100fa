/** The top of the page: what the interface is, where it is, how to authenticate and how errors look. */

import { codeBlock } from "./code-block.js";
import { element, prose } from "../shared/dom.js";
import { schemeLabel } from "./operation-card.js";
import { schemaTree } from "./tree.js";

export function showIntroduction(root, reference) {
  const part = (name) => root.querySelector(`.${name}`);
  part("version").textContent = reference.info.version;
  part("description").replaceChildren(...prose(reference.info.description ?? ""));
  part("base").querySelector("code").textContent = reference.baseUrl;
  part("base").hidden = false;
  part("schemes").replaceChildren(
    ...Object.entries(reference.schemes).map(([name, scheme]) => schemeCard(name, scheme, reference)),
  );
  if (reference.errorSchema) part("error-format").replaceChildren(schemaTree(reference.errorSchema, reference));
  else part("error-section").hidden = true;
}

function schemeCard(name, scheme, { operations }) {
  const login = operations.find(({ method, path }) => `${scheme.description} `.includes(`${method} ${path}.`));
  return element(
    "div",
    { class: "scheme" },
    element("h3", {}, capitalised(schemeLabel(scheme, name))),
    element(
      "p",
      {},
      prose(scheme.description ?? ""),
      login ? [" ", element("a", { href: `#${login.id}` }, "How to get one")] : null,
    ),
    codeBlock("Header", headerOf(scheme)),
  );
}

function headerOf({ type, name, scheme }) {
  return type === "apiKey" ? `${name}: <${name}>` : `Authorization: ${capitalised(scheme)} base64(username:password)`;
}

function capitalised(text) {
  return text[0].toUpperCase() + text.slice(1);
}
