/** One operation: a line that says what it is, which opens to all there is to know. */

import { codeBlock, jsonBlock } from "./code-block.js";
import { curlCommand, isBinary } from "./curl.js";
import { code, element, formatPath, prose } from "../shared/dom.js";
import { describeSchema, sampleValue } from "./schema.js";
import { remarks, schemaTree, signature } from "./tree.js";

export class OperationCard {
  #reference;
  #operation;
  #searchText;
  #filled = false;

  constructor(operation, reference) {
    const { id, method, path, summary, graphqlField } = operation;
    this.#reference = reference;
    this.#operation = operation;
    this.#searchText = [method, path, summary, graphqlField].join(" ").toLowerCase();
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

  /** Show the card if it has all these words, in lower case; whether it has. */
  match(words) {
    const matches = words.every((word) => this.#searchText.includes(word));
    this.root.hidden = !matches;
    return matches;
  }

  /** Open the card, so that at once it has its full height. */
  open() {
    this.#fill();
    this.root.open = true;
  }

  focus() {
    this.root.querySelector("summary").focus({ preventScroll: true });
  }

  #fill() {
    if (this.#filled) return;
    this.#filled = true;
    this.root.append(body(this.#operation, this.#reference));
  }
}

function body(operation, reference) {
  const { id, notes, parameters, body: requestBody, responses, errorResponses } = operation;
  return element(
    "div",
    { class: "details-body" },
    notes.map((note) => element("p", { class: "note" }, prose(note))),
    facts(operation, reference),
    parametersOf("Path parameters", parameters.filter((one) => one.in === "path"), reference),
    parametersOf("Query parameters", parameters.filter((one) => one.in === "query"), reference),
    requestBody ? part("Request body", requestBody.media, bodyFormat(requestBody, reference)) : null,
    codeBlock("curl", curlCommand(operation, reference)),
    responses.flatMap(({ status, contents }) =>
      contents.map((content) => part(`Answer ${status}`, content.media, bodyFormat(content, reference))),
    ),
    errors(errorResponses),
    element("a", { class: "permalink", href: `#${id}` }, "Link to this operation"),
  );
}

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

function fact(term, ...content) {
  return element("div", {}, element("dt", {}, term), element("dd", {}, content));
}

/** What a security scheme is called. */
export function schemeLabel(scheme, name) {
  if (scheme?.type === "apiKey") return `${scheme.name} ${scheme.in}`;
  return scheme?.scheme === "basic" ? "Basic" : name;
}

function joinWithOr(nodes) {
  return nodes.flatMap((node, index) => (index ? [" or ", node] : [node]));
}

function parametersOf(title, parameters, reference) {
  if (parameters.length === 0) return null;
  const rows = parameters.map(({ name, schema, required, description, example }) => {
    const { type, values } = describeSchema(schema, reference);
    return element(
      "li",
      {},
      signature(name, type, required),
      example === undefined ? null : element("p", { class: "remark" }, "such as ", code(String(example))),
      remarks(description, values),
    );
  });
  return part(title, null, element("ul", { class: "tree parameters" }, rows));
}

/** The schema of a body beside an example of it. */
function bodyFormat({ schema, example }, reference) {
  if (isBinary(schema)) return element("p", { class: "remark" }, "Binary data.");
  return element(
    "div",
    { class: "body-format" },
    schemaTree(schema, reference),
    jsonBlock("Example", example ?? sampleValue(schema, reference)),
  );
}

function errors(errorResponses) {
  if (errorResponses.length === 0) return null;
  const rows = errorResponses.map(({ status, description }) =>
    element("li", {}, element("b", {}, status), " ", element("span", {}, description.replaceAll("_", "_\u200B"))),
  );
  return part("Errors", element("a", { href: "#errors" }, "How errors look"), element("ul", { class: "errors" }, rows));
}

function part(title, aside, ...content) {
  const heading = element("h4", {}, title, aside ? [" ", element("small", {}, aside)] : null);
  return element("section", { class: "part" }, heading, content);
}
