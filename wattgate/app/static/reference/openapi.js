/** The OpenAPI document, in the form in which the page shows it. */

/**
 * The members of a JSON Schema that the page uses. A node with `$ref` stands for a component.
 * @typedef {object} SchemaNode
 * @property {string} [$ref]
 * @property {string | string[]} [type]
 * @property {string} [format]
 * @property {string} [description]
 * @property {string} [contentMediaType]
 * @property {boolean} [writeOnly]
 * @property {unknown} [const]
 * @property {unknown[]} [enum]
 * @property {unknown} [default]
 * @property {unknown} [example]
 * @property {number} [minLength]
 * @property {number} [maxLength]
 * @property {number} [minimum]
 * @property {number} [maximum]
 * @property {number} [exclusiveMinimum]
 * @property {number} [exclusiveMaximum]
 * @property {number} [minItems]
 * @property {number} [maxItems]
 * @property {string} [pattern]
 * @property {SchemaNode[]} [anyOf]
 * @property {SchemaNode[]} [oneOf]
 * @property {SchemaNode[]} [allOf]
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
/** The same request in GraphQL. @typedef {{ document: string, variables: Record<string, unknown> }} Twin */

/**
 * An operation. The type of its bodies and of its responses is that of their contents.
 * @typedef {object} Operation
 * @property {string} id
 * @property {string} area  Its first tag.
 * @property {string} method
 * @property {string} path
 * @property {string} summary
 * @property {string[]} notes  Paragraphs of the description.
 * @property {string | null} graphqlField  The kind and the name of the GraphQL field of the same operation.
 * @property {Twin | null} twin
 * @property {boolean} isMutation  Whether it changes something.
 * @property {boolean} isDestructive  Whether it removes or ends something.
 * @property {string[]} credentials  Names of security schemes, of which one is needed.
 * @property {Parameter[]} parameters
 * @property {Content[]} bodies  The body in each of its media types.
 * @property {boolean} bodyRequired
 * @property {SuccessResponse[]} responses
 * @property {{ status: string, codes: string[] }[]} errorResponses
 */

/** @typedef {{ name: string, description: string }} Tag */

const METHODS = ["get", "post", "put", "patch", "delete"];
const GRAPHQL_FIELD = /^GraphQL: `(.+)`$/;
/** How the names of GraphQL fields begin that remove or end something. */
const DESTRUCTIVE = /^(delete|remove|revoke|deactivate|archive|erase|optOut|rollBack|cancel|withdraw|purge)(?=[A-Z]|$)/;

/** The document cannot be loaded. The message is a sentence for the reader of the page. */
export class DocumentUnavailable extends Error {}

/**
 * Load the document. Throw DocumentUnavailable if that fails.
 * @param {URL} address
 * @returns {Promise<Reference>}
 */
export async function readDocument(address) {
  const text = await readText(address);
  const document = parseDocument(text);
  const version = String(document?.openapi ?? document?.swagger ?? "");
  if (!version) throw new DocumentUnavailable("The gateway did not return an OpenAPI document.");
  if (!version.startsWith("3.")) {
    throw new DocumentUnavailable(`The document has version ${version} of OpenAPI. This page reads version 3.`);
  }
  try {
    return new Reference(document, address, text);
  } catch {
    throw new DocumentUnavailable("The page cannot read this OpenAPI document. Reload the page to get its newest version.");
  }
}

/** @param {string} text */
function parseDocument(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Return the text of the document of the gateway, never one from a cache.
 * @param {URL} address
 * @returns {Promise<string>}
 */
export async function readText(address) {
  const response = await fetch(address, { headers: { Accept: "application/json" }, cache: "no-store" }).catch(() => null);
  if (!response) throw new DocumentUnavailable("The gateway cannot be reached.");
  if (!response.ok) {
    throw new DocumentUnavailable(`${`The gateway responded with ${response.status} ${response.statusText}`.trim()}.`);
  }
  return await response.text();
}

export class Reference {
  /** @type {any} */
  #document;

  /**
   * @param {any} document  The OpenAPI document.
   * @param {URL} address  The URL that it was loaded from.
   * @param {string} [text]  Its text.
   */
  constructor(document, address, text = "") {
    this.#document = document;
    this.text = text;
    /** @type {{ version: string, description?: string }} */
    this.info = document.info;
    /** @type {string} */
    this.baseUrl = new URL(document.servers?.[0]?.url ?? ".", address).href.replace(/\/$/, "");
    /** @type {Record<string, SecurityScheme>} */
    this.schemes = document.components?.securitySchemes ?? {};
    /** @type {Record<string, Tag>} The tags by their names in the document. */
    this.tags = Object.fromEntries((document.tags ?? []).map((/** @type {any} */ tag) => [tag.name, describeTag(tag)]));
    /** @type {{ name: string, tags: string[] }[]} */
    this.tagGroups = document["x-tagGroups"] ?? [];
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
      return { status, description: resolved.description ?? "", codes: resolved["x-error-codes"] ?? [], contents: contentsOf(resolved) };
    });
    const requestBody = described.requestBody ? this.resolve(described.requestBody) : null;
    const twin = described["x-graphql"] ?? null;
    const field = twin ? `${twin.kind} ${twin.field}` : graphqlField;
    const effect = described["x-effect"] ?? guessEffect(method, field);
    return {
      id: described.operationId,
      area: described.tags?.[0] ?? "",
      method: method.toUpperCase(),
      path,
      summary: described.summary ?? "",
      notes: paragraphs.filter((text) => withoutStop(text) !== withoutStop(described.summary ?? "")),
      graphqlField: field,
      twin: twin?.document ? { document: twin.document, variables: twin.variables ?? {} } : null,
      isMutation: effect !== "read",
      isDestructive: effect === "destructive",
      credentials: (described.security ?? []).flatMap(Object.keys),
      parameters: (described.parameters ?? []).map((/** @type {any} */ one) => this.resolve(one)),
      bodies: requestBody ? contentsOf(requestBody) : [],
      bodyRequired: requestBody?.required ?? false,
      responses: responses.filter(({ status }) => Number(status) < 400),
      errorResponses: responses
        .filter(({ status }) => Number(status) >= 400)
        .map(({ status, codes }) => ({ status, codes })),
    };
  }
}

/**
 * Return the effect of an operation in a document that does not state it.
 * @param {string} method
 * @param {string | null} field  The kind and the name of the GraphQL field.
 */
function guessEffect(method, field) {
  const [kind, name = ""] = (field ?? "").split(" ");
  if (method === "delete" || DESTRUCTIVE.test(name)) return "destructive";
  return (field ? kind === "mutation" : method !== "get") ? "write" : "read";
}

/** @param {string} text */
function withoutStop(text) {
  return text.replace(/\.$/, "");
}

/** @param {any} tag */
function describeTag(tag) {
  return { name: tag["x-displayName"] ?? tag.summary ?? tag.name, description: tag.description ?? "" };
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
