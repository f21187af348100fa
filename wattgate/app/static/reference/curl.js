/** An operation as a shell command, with shell variables for values that only the user knows. */

import { sampleValue } from "./schema.js";

/** @import { Content, Operation, Parameter, Reference, SchemaNode, SecurityScheme } from "./openapi.js" */

/** Characters of a JSON body that is written on one line. */
const MAX_LINE_LENGTH = 70;

/**
 * Return the curl command of an operation.
 * @param {Operation} operation
 * @param {Pick<Reference, "baseUrl" | "schemes" | "resolve">} reference
 * @returns {string}
 */
export function curlCommand({ method, path, parameters, body, credentials, responses }, reference) {
  const binary = responses.every(({ contents }) => contents.length && contents.every(({ schema }) => isBinary(schema)));
  const query = queryParameters(parameters, reference);
  const options = [...(method === "GET" ? [] : [`-X ${method}`]), ...(query.length ? ["-G"] : [])];
  return [
    ["curl", ...options, `"${reference.baseUrl}${path.replace(/{(\w+)}/g, "$$$1")}"`].join(" "),
    ...query.map((pair) => `--data-urlencode ${quote(pair)}`),
    ...authenticationOptions(credentials, reference.schemes),
    ...(body ? [`-H "Content-Type: ${body.media}"`, `-d ${quote(json(exampleBody(body, reference)))}`] : []),
    ...(binary ? ["--output response.bin"] : []),
  ].join(" \\\n  ");
}

/**
 * @param {Parameter[]} parameters
 * @param {Pick<Reference, "resolve">} reference
 */
function queryParameters(parameters, reference) {
  return parameters
    .filter((parameter) => parameter.in === "query" && (parameter.required || parameter.example !== undefined))
    .map(({ name, example, schema }) => `${name}=${example ?? sampleValue(schema, reference, { name })}`);
}

/**
 * Return the options that authenticate the request. If there is a choice, a header comes before HTTP authentication.
 * @param {string[]} credentials
 * @param {Record<string, SecurityScheme>} schemes
 */
function authenticationOptions(credentials, schemes) {
  const offered = credentials.map((name) => schemes[name]);
  const header = offered.find((scheme) => scheme?.type === "apiKey");
  if (header) return [`-H "${header.name}: $${header.name}"`];
  return offered.some((scheme) => scheme?.scheme === "basic") ? ['-u "$username:$password"'] : [];
}

/**
 * @param {Content} body
 * @param {Pick<Reference, "resolve">} reference
 */
function exampleBody({ schema, example }, reference) {
  return example ?? sampleValue(schema, reference, { requiredOnly: true });
}

/** @param {unknown} value */
function json(value) {
  const line = JSON.stringify(value);
  return line.length <= MAX_LINE_LENGTH ? line : JSON.stringify(value, null, 2).replaceAll("\n", "\n  ");
}

/** @param {string} text */
function quote(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * Return whether a schema is of binary content.
 * @param {SchemaNode | undefined} schema
 * @returns {boolean}
 */
export function isBinary(schema) {
  return Boolean(schema?.contentMediaType);
}
