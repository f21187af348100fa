/** The OpenAPI document, in the form in which the page shows it. */

/**
 * The members of a JSON Schema that the page uses. A node with `$ref` stands for a component.
 * @typedef {object} SchemaNode
 * @property {string} [$ref]
 * @property {string | string[]} [type]
 * @property {string} [format]
 * @property {string} [description]
 * @property {string} [contentMediaType]
 * @property {unknown[]} [enum]
 * @property {SchemaNode[]} [anyOf]
 * @property {SchemaNode} [items]
 * @property {Record<string, SchemaNode>} [properties]
 * @property {string[]} [required]
 */

/**
 * A parameter of an operation.
 * @typedef {object} Parameter
 * @property {string} name
 * @property {string} in
 * @property {SchemaNode} schema
 * @property {boolean} [required]
 * @property {string} [description]
 * @property {unknown} [example]
 */

/** @typedef {{ media: string, schema: SchemaNode, example?: unknown }} Content */
/** @typedef {{ type: string, name?: string, in?: string, scheme?: string, description?: string }} SecurityScheme */
/** @typedef {{ status: string, description: string, contents: Content[] }} SuccessResponse */

/**
 * An operation. The type of its body and of its responses is that of their contents.
 * @typedef {object} Operation
 * @property {string} id
 * @property {string} area  Its first tag.
 * @property {string} method
 * @property {string} path
 * @property {string} summary
 * @property {string[]} notes  Paragraphs of the description.
 * @property {string | null} graphqlField  The GraphQL field of the same operation.
 * @property {string[]} credentials  Names of security schemes, of which one is needed.
 * @property {Parameter[]} parameters
 * @property {Content | null} body
 * @property {SuccessResponse[]} responses
 * @property {{ status: string, description: string }[]} errorResponses
 */

const METHODS = ["get", "post", "put", "patch", "delete"];
const GRAPHQL_FIELD = /^GraphQL: `(.+)`$/;

/** The document cannot be loaded. The message is a sentence for the reader of the page. */
export class DocumentUnavailable extends Error {}

/**
 * Load the document. Throw DocumentUnavailable if that fails.
 * @param {URL} address
 * @returns {Promise<Reference>}
 */
export async function readDocument(address) {
  const response = await fetch(address, { headers: { Accept: "application/json" } }).catch(() => null);
  if (!response) throw new DocumentUnavailable("The gateway cannot be reached.");
  if (!response.ok) {
    throw new DocumentUnavailable(`${`The gateway responded with ${response.status} ${response.statusText}`.trim()}.`);
  }
  try {
    return new Reference(await response.json(), address);
  } catch {
    throw new DocumentUnavailable("The gateway did not return an OpenAPI document.");
  }
}

export class Reference {
  /** @type {any} */
  #document;

  /**
   * @param {any} document  The OpenAPI document.
   * @param {URL} address  The URL that it was loaded from.
   */
  constructor(document, address) {
    this.#document = document;
    /** @type {{ version: string, description?: string }} */
    this.info = document.info;
    /** @type {string} */
    this.baseUrl = new URL(document.servers?.[0]?.url ?? ".", address).href.replace(/\/$/, "");
    /** @type {Record<string, SecurityScheme>} */
    this.schemes = document.components?.securitySchemes ?? {};
    /** @type {Operation[]} */
    this.operations = Object.entries(document.paths).flatMap(([path, item]) =>
      METHODS.filter((method) => item[method]).map((method) => this.#operation(method, path, item[method])),
    );
  }

  /**
   * Return a node, or the component that its `$ref` names with the node's other members added.
   * @template {{ $ref?: string }} T
   * @param {T} node
   * @returns {T}
   */
  resolve(node) {
    if (!node.$ref) return node;
    const { $ref, ...additions } = node;
    const target = $ref.slice(2).split("/").reduce((parent, key) => parent[key], this.#document);
    return { ...this.resolve(target), ...additions };
  }

  /**
   * The schema that all errors share, or null if the document has none.
   * @returns {SchemaNode | null}
   */
  get errorSchema() {
    const [first] = Object.values(this.#document.components?.responses ?? {});
    return first ? (contentsOf(first)[0]?.schema ?? null) : null;
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {any} described  The operation in the document.
   * @returns {Operation}
   */
  #operation(method, path, described) {
    const { paragraphs, graphqlField } = parseDescription(described.description ?? "");
    const responses = Object.entries(described.responses).map(([status, response]) => {
      const resolved = this.resolve(response);
      return { status, description: resolved.description, contents: contentsOf(resolved) };
    });
    return {
      id: described.operationId,
      area: described.tags[0],
      method: method.toUpperCase(),
      path,
      summary: described.summary,
      notes: paragraphs.filter((text) => text !== described.summary),
      graphqlField,
      credentials: (described.security ?? []).flatMap(Object.keys),
      parameters: described.parameters ?? [],
      body: described.requestBody ? contentsOf(this.resolve(described.requestBody))[0] : null,
      responses: responses.filter(({ status }) => Number(status) < 400),
      errorResponses: responses.filter(({ status }) => Number(status) >= 400),
    };
  }
}

/**
 * Return the paragraphs of a description, and the GraphQL field that one of them names.
 * @param {string} description
 * @returns {{ paragraphs: string[], graphqlField: string | null }}
 */
export function parseDescription(description) {
  const texts = description.split("\n\n").map((text) => text.replaceAll("\n", " "));
  const graphqlField = texts.map((text) => GRAPHQL_FIELD.exec(text)?.[1]).find(Boolean) ?? null;
  return { paragraphs: texts.filter((text) => text && !GRAPHQL_FIELD.test(text)), graphqlField };
}

/**
 * @param {{ content?: Record<string, { schema: SchemaNode, example?: unknown }> }} node
 * @returns {Content[]}
 */
function contentsOf({ content = {} }) {
  return Object.entries(content).map(([media, { schema, example }]) => ({ media, schema, example }));
}
