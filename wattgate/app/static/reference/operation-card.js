/** One operation: a line with its method, path and summary, which opens to show the details. */

import { code, element, find, formatPath, prose } from "../shared/dom.js";
import { codeBlock, jsonBlock } from "./code-block.js";
import { curlCommand, isBinary } from "./curl.js";
import { describeSchema, sampleValue } from "./schema.js";
import { remarks, schemaTree, signature } from "./tree.js";

/** @import { Child } from "../shared/dom.js" */
/** @import { Content, Operation, Parameter, Reference, SecurityScheme } from "./openapi.js" */

export class OperationCard {
  /** @type {Reference} */
  #reference;
  /** @type {Operation} */
  #operation;
  /** @type {string} */
  #searchText;
  #filled = false;

  /**
   * @param {Operation} operation
   * @param {Reference} reference
   */
  constructor(operation, reference) {
    const { id, method, path, summary, graphqlField } = operation;
    this.#reference = reference;
    this.#operation = operation;
    this.#searchText = [method, path, summary, graphqlField].join(" ").toLowerCase();
    /** @type {HTMLDetailsElement} */
    this.root = element(
      "details",
      { class: "operation", id, "data-method": method, "data-testid": "operation" },
      element(
        "summary",
        {},
        element("span", { class: "method" }, method),
        formatPath(path),
        element("span", { class: "summary-text" }, prose(summary)),
      ),
    );
    this.root.addEventListener("toggle", () => this.root.open && this.#fill());
  }

  /**
   * Show the card if it has all these words, else hide it. Return whether it is shown.
   * @param {string[]} words  In lower case.
   * @returns {boolean}
   */
  match(words) {
    const matches = words.every((word) => this.#searchText.includes(word));
    this.root.hidden = !matches;
    return matches;
  }

  /** Open the card. Its content is added first, so that it has its full height at once. */
  open() {
    this.#fill();
    this.root.open = true;
  }

  /** Move the focus to the card without scrolling. */
  focus() {
    find(this.root, "summary").focus({ preventScroll: true });
  }

  #fill() {
    if (this.#filled) return;
    this.#filled = true;
    this.root.append(details(this.#operation, this.#reference));
  }
}

/**
 * @param {Operation} operation
 * @param {Reference} reference
 */
function details(operation, reference) {
  const { id, notes, parameters, body, responses, errorResponses } = operation;
  return element(
    "div",
    { class: "details-body" },
    notes.map((note) => element("p", { class: "note" }, prose(note))),
    facts(operation, reference),
    parameterList("Path parameters", parameters.filter((parameter) => parameter.in === "path"), reference),
    parameterList("Query parameters", parameters.filter((parameter) => parameter.in === "query"), reference),
    body ? part("Request body", body.media, bodyFormat(body, reference)) : null,
    codeBlock("curl", curlCommand(operation, reference)),
    responses.flatMap(({ status, contents }) =>
      contents.map((content) => part(`Response ${status}`, content.media, bodyFormat(content, reference))),
    ),
    errors(errorResponses),
    element("a", { class: "permalink", href: `#${id}` }, "Link to this operation"),
  );
}

/**
 * @param {Operation} operation
 * @param {Reference} reference
 */
function facts({ credentials, graphqlField }, reference) {
  const labels = credentials.map((name) => schemeLabel(reference.schemes[name], name));
  const names = labels.map((label) => element("span", { class: "credential" }, label));
  return element(
    "dl",
    { class: "facts" },
    fact("Credentials", names.length ? joinWithOr(names) : "None needed"),
    graphqlField ? fact("GraphQL", code(graphqlField)) : null,
  );
}

/**
 * @param {string} term
 * @param {...Child} content
 */
function fact(term, ...content) {
  return element("div", {}, element("dt", {}, term), element("dd", {}, content));
}

/**
 * Return the name of a security scheme for the reader.
 * @param {SecurityScheme | undefined} scheme
 * @param {string} name  Its name in the document.
 * @returns {string}
 */
export function schemeLabel(scheme, name) {
  if (scheme?.type === "apiKey") return `${scheme.name} ${scheme.in}`;
  return scheme?.scheme === "basic" ? "Basic" : name;
}

/**
 * @param {Node[]} nodes
 * @returns {Child[]}
 */
function joinWithOr(nodes) {
  return nodes.flatMap((node, index) => (index ? [" or ", node] : [node]));
}

/**
 * @param {string} title
 * @param {Parameter[]} parameters
 * @param {Reference} reference
 */
function parameterList(title, parameters, reference) {
  if (parameters.length === 0) return null;
  const rows = parameters.map(({ name, schema, required, description, example }) => {
    const { type, values } = describeSchema(schema, reference);
    return element(
      "li",
      {},
      signature(name, type, Boolean(required)),
      example === undefined ? null : element("p", { class: "remark" }, "For example ", code(String(example))),
      remarks(description, values),
    );
  });
  return part(title, null, element("ul", { class: "tree parameters" }, rows));
}

/**
 * Create the schema of a body beside an example of it.
 * @param {Content} content
 * @param {Reference} reference
 */
function bodyFormat({ schema, example }, reference) {
  if (isBinary(schema)) return element("p", { class: "remark" }, "Binary data.");
  return element(
    "div",
    { class: "body-format" },
    schemaTree(schema, reference),
    jsonBlock("Example", example ?? sampleValue(schema, reference)),
  );
}

/** @param {{ status: string, description: string }[]} errorResponses */
function errors(errorResponses) {
  if (errorResponses.length === 0) return null;
  const rows = errorResponses.map(({ status, description }) => {
    // A zero-width space after each underscore lets long error codes wrap.
    const text = description.replaceAll("_", "_\u200B");
    return element("li", {}, element("b", {}, status), " ", element("span", {}, text));
  });
  return part("Errors", element("a", { href: "#errors" }, "Error format"), element("ul", { class: "errors" }, rows));
}

/**
 * @param {string} title
 * @param {Child} aside
 * @param {...Child} content
 */
function part(title, aside, ...content) {
  const heading = element("h4", {}, title, aside ? [" ", element("small", {}, aside)] : null);
  return element("section", { class: "part" }, heading, content);
}
