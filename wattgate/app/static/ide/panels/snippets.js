/** A request as code that one can copy: a curl command, or a program for fetch, graphql-tag, urql or Apollo Client. */

import { quoteForShell } from "../../shared/shell.js";
import { javaScriptValue, templateLiteral } from "./quoting.js";

/**
 * A request of the editor. Its text has one operation; `name` is that of it, null if it has none.
 * @typedef {object} CopiedRequest
 * @property {string} url  Of the endpoint.
 * @property {string} text  Of the document.
 * @property {"query" | "mutation" | "subscription"} operation
 * @property {string | null} name
 * @property {Record<string, unknown>} variables
 * @property {CopiedCredentials} credentials
 */

/**
 * The sender of the request. No code contains a token or a secret: the code has a placeholder for it.
 * @typedef {{ kind: "none" } | { kind: "token" } | { kind: "application", applicationId: string, userId: string }}
 *   CopiedCredentials
 */

/** The name of the shell variable, and the text in JavaScript, in place of the token or the secret. */
export const PLACEHOLDERS = Object.freeze({ token: "TOKEN", secret: "SECRET" });

/** @type {readonly Readonly<{ id: string, label: string, make: (request: CopiedRequest) => string }>[]} */
export const SNIPPETS = Object.freeze([
  { id: "curl", label: "curl", make: curlCommand },
  { id: "fetch", label: "fetch", make: fetchProgram },
  { id: "gql", label: "gql", make: gqlModule },
  { id: "urql", label: "urql", make: urqlProgram },
  { id: "apollo", label: "Apollo Client", make: apolloProgram },
]);

/**
 * Return a command for a POSIX shell. A subscription is an event stream that runs until it is interrupted.
 * @param {CopiedRequest} request
 * @returns {string}
 */
export function curlCommand(request) {
  const live = request.operation === "subscription";
  return [
    `curl ${live ? "--no-buffer " : ""}${quoteForShell(request.url)}`,
    "-H 'Content-Type: application/json'",
    `-H 'Accept: ${accepted(request)}'`,
    ...curlCredentials(request.credentials),
    `-d ${quoteForShell(JSON.stringify(bodyOf(request)))}`,
  ].join(" \\\n  ");
}

/**
 * @param {CopiedCredentials} credentials
 * @returns {string[]}
 */
function curlCredentials(credentials) {
  if (credentials.kind === "none") return [];
  if (credentials.kind === "token") return [`-H "token: $${PLACEHOLDERS.token}"`];
  const { applicationId, userId } = credentials;
  const user = `-u ${quoteForShell(`${applicationId}:`)}"$${PLACEHOLDERS.secret}"`;
  return userId ? [user, `-H ${quoteForShell(`userId: ${userId}`)}`] : [user];
}

/**
 * Return a program that uses only what browsers and Node have.
 * @param {CopiedRequest} request
 * @returns {string}
 */
function fetchProgram(request) {
  const headers = [
    '"content-type": "application/json"',
    `accept: ${JSON.stringify(accepted(request))}`,
    ...headerMembers(request.credentials),
  ];
  const members = [
    `query: ${templateLiteral(request.text)}`,
    `variables: ${javaScriptValue(request.variables, "    ")}`,
  ];
  return `const response = await fetch(${JSON.stringify(request.url)}, {
  method: "POST",
  headers: {
    ${headers.join(",\n    ")},
  },
  body: JSON.stringify({
    ${members.join(",\n    ")},
  }),
});
${request.operation === "subscription" ? READ_STREAM : READ_RESPONSE}`;
}

const READ_RESPONSE = `const { data, errors } = await response.json();
console.log(JSON.stringify(errors ?? data, null, 2));
`;

const READ_STREAM = `let received = "";
for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
  received += part;
  const messages = received.split("\\n\\n");
  received = messages.pop();
  for (const message of messages) {
    const data = message.match(/^data: (.+)$/m);
    if (data) console.log(data[1]);
  }
}
`;

/**
 * Return a module with the document.
 * @param {CopiedRequest} request
 * @returns {string}
 */
function gqlModule(request) {
  return `import gql from "graphql-tag";

${documentOf(request, "export ")}`;
}

/**
 * Return a program for @urql/core. A subscription also needs graphql-ws.
 * @param {CopiedRequest} request
 * @returns {string}
 */
function urqlProgram(request) {
  const call = `client.${request.operation}(${constantName(request)}, ${javaScriptValue(request.variables)})`;
  if (request.operation === "subscription") {
    return `import { Client, fetchExchange, gql, subscriptionExchange } from "@urql/core";
${socketOf(request)}
const client = new Client({
  url: ${JSON.stringify(request.url)},
  exchanges: [
    fetchExchange,
    subscriptionExchange({
      forwardSubscription: ({ query, variables }) => ({
        subscribe: (sink) => ({ unsubscribe: socket.subscribe({ query, variables }, sink) }),
      }),
    }),
  ],
});
${documentOf(request)}
${call}.subscribe(({ data, error }) => {
  console.log(JSON.stringify(error ?? data));
});
`;
  }
  return `import { Client, cacheExchange, fetchExchange, gql } from "@urql/core";

const client = new Client({
  url: ${JSON.stringify(request.url)},
  exchanges: [cacheExchange, fetchExchange],
  fetchOptions: { headers: ${headerLiteral(request.credentials)} },
});
${documentOf(request)}
const { data, error } = await ${call};
console.log(JSON.stringify(error ?? data, null, 2));
`;
}

/**
 * Return a program for Apollo Client 4. A subscription also needs graphql-ws.
 * @param {CopiedRequest} request
 * @returns {string}
 */
function apolloProgram(request) {
  const { operation, credentials, url } = request;
  const options = `{
  ${operation === "mutation" ? "mutation" : "query"}: ${constantName(request)},
  variables: ${javaScriptValue(request.variables, "  ")},
}`;
  if (operation === "subscription") {
    return `import { ApolloClient, InMemoryCache, gql } from "@apollo/client/core";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
${socketOf(request)}
const client = new ApolloClient({ link: new GraphQLWsLink(socket), cache: new InMemoryCache() });
${documentOf(request)}
client.subscribe(${options}).subscribe(({ data, error }) => {
  console.log(JSON.stringify(error ?? data));
});
`;
  }
  return `import { ApolloClient, HttpLink, InMemoryCache, gql } from "@apollo/client/core";

const client = new ApolloClient({
  link: new HttpLink({ uri: ${JSON.stringify(url)}, headers: ${headerLiteral(credentials)} }),
  cache: new InMemoryCache(),
});
${documentOf(request)}
const { data } = await client.${operation === "mutation" ? "mutate" : "query"}(${options});
console.log(JSON.stringify(data, null, 2));
`;
}

/**
 * @param {CopiedRequest} request
 * @returns {string}
 */
function socketOf({ url, credentials }) {
  return `import { createClient } from "graphql-ws";

const socket = createClient({
  url: ${JSON.stringify(url.replace(/^http/, "ws"))},
  connectionParams: ${headerLiteral(credentials)},
});`;
}

/**
 * Return the declaration of the document. The client libraries send one operation: they need a document with one.
 * @param {CopiedRequest} request
 * @param {string} [prefix]
 */
function documentOf(request, prefix = "") {
  return `${prefix}const ${constantName(request)} = gql${templateLiteral(request.text)};\n`;
}

/** @param {CopiedRequest} request */
function constantName({ name, operation }) {
  const words = name ?? operation;
  return `${words[0].toUpperCase()}${words.slice(1)}Document`;
}

/**
 * Return the body of a request.
 * @param {Pick<CopiedRequest, "text" | "variables">} request
 * @returns {{ query: string, variables: Record<string, unknown> }}
 */
function bodyOf({ text, variables }) {
  return { query: text, variables };
}

/** @param {CopiedRequest} request */
function accepted({ operation }) {
  return operation === "subscription" ? "text/event-stream" : "application/graphql-response+json";
}

/**
 * @param {CopiedCredentials} credentials
 * @returns {string[]}
 */
function headerMembers(credentials) {
  if (credentials.kind === "none") return [];
  if (credentials.kind === "token") return [`token: "${PLACEHOLDERS.token}"`];
  const { applicationId, userId } = credentials;
  const basic = `authorization: "Basic " + btoa(${JSON.stringify(`${applicationId}:${PLACEHOLDERS.secret}`)})`;
  return userId ? [basic, `userId: ${JSON.stringify(userId)}`] : [basic];
}

/** @param {CopiedCredentials} credentials */
function headerLiteral(credentials) {
  const members = headerMembers(credentials);
  return members.length ? `{ ${members.join(", ")} }` : "{}";
}
