/** The OpenAPI document as the page shows it. */

const METHODS = ["get", "post", "put", "patch", "delete"];
const GRAPHQL_FIELD = /^GraphQL: `(.+)`$/;

export class DocumentUnavailable extends Error {}

/** Read the document; throws `DocumentUnavailable`, with a sentence for people, when there is none. */
export async function readDocument(address) {
  let response;
  try {
    response = await fetch(address, { headers: { Accept: "application/json" } });
  } catch {
    throw new DocumentUnavailable("The gateway cannot be reached.");
  }
  if (!response.ok) throw new DocumentUnavailable(`The gateway answered ${response.status} ${response.statusText}`.trim() + ".");
  try {
    return new Reference(await response.json(), address);
  } catch {
    throw new DocumentUnavailable("What the gateway answered is not an OpenAPI document.");
  }
}

export class Reference {
  #document;

  constructor(document, address) {
    this.#document = document;
    this.info = document.info;
    this.baseUrl = new URL(document.servers?.[0]?.url ?? ".", address).href.replace(/\/$/, "");
    this.schemes = document.components?.securitySchemes ?? {};
    this.operations = Object.entries(document.paths).flatMap(([path, item]) =>
      METHODS.filter((method) => item[method]).map((method) => this.#operation(method, path, item[method])),
    );
  }

  /** What a node stands for: the node itself, or what its $ref names, to which the node may add. */
  resolve(node) {
    if (!node.$ref) return node;
    const { $ref, ...additions } = node;
    const target = $ref.slice(2).split("/").reduce((from, key) => from[key], this.#document);
    return { ...this.resolve(target), ...additions };
  }

  /** The form that all errors share. */
  get errorSchema() {
    const [first] = Object.values(this.#document.components?.responses ?? {});
    return first ? contents(first)[0]?.schema : null;
  }

  #operation(method, path, described) {
    const paragraphs = (described.description ?? "").split("\n\n").map((text) => text.replaceAll("\n", " "));
    const graphqlField = paragraphs.map((text) => GRAPHQL_FIELD.exec(text)?.[1]).find(Boolean) ?? null;
    const responses = Object.entries(described.responses).map(([status, response]) => ({
      status,
      ...this.resolve(response),
    }));
    return {
      id: described.operationId,
      area: described.tags[0],
      method: method.toUpperCase(),
      path,
      summary: described.summary,
      notes: paragraphs.filter((text) => text && text !== described.summary && !GRAPHQL_FIELD.test(text)),
      graphqlField,
      credentials: (described.security ?? []).flatMap(Object.keys),
      parameters: described.parameters ?? [],
      body: described.requestBody ? contents(this.resolve(described.requestBody))[0] : null,
      responses: responses.filter(({ status }) => status < 400).map((one) => ({ ...one, contents: contents(one) })),
      errorResponses: responses.filter(({ status }) => status >= 400),
    };
  }
}

function contents({ content = {} }) {
  return Object.entries(content).map(([media, { schema, example }]) => ({ media, schema, example }));
}
