/** One operation: a line with its method, path and summary, which opens to show the details. */

import { element, find, formatPath, prose } from "../shared/dom.js";
import { jsonBlock } from "./code-block.js";
import { CodeSamples } from "./code-samples.js";
import { namedCredential } from "./credentials.js";
import { operationErrors } from "./error-list.js";
import { twinPart } from "./graphql-twin.js";
import { hasSecrets, hideSecrets, planRequest } from "./request.js";
import { RequestForm } from "./request-form.js";
import { example, isBinary } from "./schema.js";
import { schemaTree } from "./tree.js";
import { TryIt } from "./try-it.js";

/** @import { Child } from "../shared/dom.js" */
/** @import { Content, Operation, Reference, SecurityScheme } from "./openapi.js" */
/** @import { Surroundings } from "./try-it.js" */

/**
 * Objects that the cards of a page share. `presets` has values of parameters by `parameterKey`.
 * @typedef {Surroundings & { presets: Record<string, string>, hasIde: boolean }} PageContext
 */

/** A note of operations that need no credentials, which the page shows beside those that need some. */
const OPEN_NOTE = "No credentials are required.";

export class OperationCard {
  /** @type {PageContext} */
  #page;
  #filled = false;

  /**
   * @param {Operation} operation
   * @param {PageContext} page
   */
  constructor(operation, page) {
    const { id, method, path, summary, isDestructive } = operation;
    this.operation = operation;
    this.#page = page;
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
    if (isDestructive) this.root.dataset.destructive = "";
    this.root.addEventListener("toggle", () => this.root.open && this.#fill());
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
    this.root.append(details(this.operation, this.#page));
  }
}

/**
 * @param {Operation} operation
 * @param {PageContext} page
 */
function details(operation, page) {
  const { id, notes, responses } = operation;
  const { reference, credentials, presets, hasIde } = page;
  /** @type {CodeSamples | null} */
  let samples = null;
  /** @type {TryIt | null} */
  let tryIt = null;
  const form = new RequestForm(operation, page, presets, {
    onChange: () => samples?.show(),
    onSubmit: () => tryIt?.send(),
  });
  tryIt = new TryIt(operation, form, page);
  /** @param {boolean} reveal */
  const plan = (reveal) => requestShown(operation, form, page, reveal);
  samples = new CodeSamples(id, plan, () => {
    const isAuthenticated = operation.credentials.length > 0 && credentials.label !== "";
    return isAuthenticated || hasSecrets(planRequest(operation, form.values, reference, { kind: "none" }), operation, reference);
  });
  credentials.addEventListener("change", () => samples.show());
  return element(
    "div",
    { class: "details-body" },
    element("div", { class: "notes" }, notes.filter((note) => note !== OPEN_NOTE).map((note) => element("p", { class: "note" }, prose(note))), facts(operation, reference)),
    element("div", { class: "request-column" }, form.root),
    element("div", { class: "code-column" }, samples.root, tryIt.root),
    element(
      "div",
      { class: "response-column" },
      responses.flatMap(({ status, contents }) =>
        contents.map((content) => part(`Response ${status}`, content.media, bodyFormat(content, reference))),
      ),
    ),
    element("div", { class: "more-column" }, twinPart(operation, hasIde), operationErrors(operation)),
    element("a", { class: "permalink", href: `#${id}` }, "Link to this operation"),
  );
}

/**
 * Return the request that the code shows.
 * @param {Operation} operation
 * @param {RequestForm} form
 * @param {PageContext} page
 * @param {boolean} reveal  Whether to show the secrets that the user gave.
 */
function requestShown(operation, form, { reference, credentials }, reveal) {
  const own = reveal ? credentials.forOperation(operation, reference.schemes) : null;
  const credential = own ?? namedCredential(operation, reference.schemes, credentials.scheme);
  const userId = credential.kind === "basic" ? credentials.userId : "";
  const plan = planRequest(operation, form.values, reference, credential, userId);
  return reveal ? plan : hideSecrets(plan, operation, reference);
}

/**
 * @param {Operation} operation
 * @param {Reference} reference
 */
function facts({ credentials }, reference) {
  const labels = credentials.map((name) => schemeLabel(reference.schemes[name], name));
  const names = labels.map((label) => element("span", { class: "credential" }, label));
  return element(
    "p",
    { class: "facts" },
    names.length ? ["Credentials: ", joinWithOr(names), "."] : OPEN_NOTE,
  );
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
 * Create the schema of a body beside an example of it.
 * @param {Content} content
 * @param {Reference} reference
 */
function bodyFormat(content, reference) {
  if (isBinary(content.schema)) return element("p", { class: "remark" }, "Binary data.");
  return element(
    "div",
    { class: "body-format" },
    schemaTree(content.schema, reference),
    jsonBlock("Example", example(content, reference)),
  );
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
