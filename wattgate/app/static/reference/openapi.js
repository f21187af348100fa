/** The OpenAPI document as the page shows it. */

const METHODS = ["get", "post", "put", "patch", "delete"];
const TWIN = /^GraphQL: `(.+)`$/;

export class Unavailable extends Error {}

/** Read the document; throws `Unavailable`, with a sentence for people, when there is none. */
export async function read(address) {
  let answer;
  try {
    answer = await fetch(address, { headers: { Accept: "application/json" } });
  } catch {
    throw new Unavailable("The gateway cannot be reached.");
  }
  if (!answer.ok) throw new Unavailable(`The gateway answered ${answer.status} ${answer.statusText}`.trim() + ".");
  try {
    return new Reference(await answer.json(), address);
  } catch {
    throw new Unavailable("What the gateway answered is not an OpenAPI document.");
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
    const twin = paragraphs.map((text) => TWIN.exec(text)?.[1]).find(Boolean) ?? null;
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
      notes: paragraphs.filter((text) => text && text !== described.summary && !TWIN.test(text)),
      twin,
      credentials: (described.security ?? []).flatMap(Object.keys),
      parameters: described.parameters ?? [],
      body: described.requestBody ? contents(this.resolve(described.requestBody))[0] : null,
      answers: responses.filter(({ status }) => status < 400).map((one) => ({ ...one, contents: contents(one) })),
      refusals: responses.filter(({ status }) => status >= 400),
    };
  }
}

function contents({ content = {} }) {
  return Object.entries(content).map(([media, { schema, example }]) => ({ media, schema, example }));
}
