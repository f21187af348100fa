/** An operation as a command for a shell, in which what only its user can know is a variable. */

import { sampleValue } from "./schema.js";

const MAX_LINE_LENGTH = 70;

export function curlCommand({ method, path, parameters, body, credentials, responses }, reference) {
  const binary = responses.every(({ contents }) => contents.length && contents.every(({ schema }) => isBinary(schema)));
  const query = queryParameters(parameters, reference);
  const options = [...(method === "GET" ? [] : [`-X ${method}`]), ...(query.length ? ["-G"] : [])];
  return [
    ["curl", ...options, `"${reference.baseUrl}${path.replace(/{(\w+)}/g, "$$$1")}"`].join(" "),
    ...query.map((pair) => `--data-urlencode ${quote(pair)}`),
    ...authenticationOptions(credentials, reference.schemes),
    ...(body ? [`-H "Content-Type: ${body.media}"`, `-d ${quote(json(exampleBody(body, reference)))}`] : []),
    ...(binary ? ["--output answer.bin"] : []),
  ].join(" \\\n  ");
}

function queryParameters(parameters, reference) {
  return parameters
    .filter((one) => one.in === "query" && (one.required || one.example !== undefined))
    .map((one) => `${one.name}=${one.example ?? sampleValue(one.schema, reference, { name: one.name })}`);
}

/** The options by which a call authenticates: a header rather than HTTP's own scheme, where there is a choice. */
function authenticationOptions(credentials, schemes) {
  const offered = credentials.map((name) => schemes[name]);
  const header = offered.find((scheme) => scheme?.type === "apiKey");
  if (header) return [`-H "${header.name}: $${header.name}"`];
  return offered.some((scheme) => scheme?.scheme === "basic") ? ['-u "$username:$password"'] : [];
}

function exampleBody({ schema, example }, reference) {
  return example ?? sampleValue(schema, reference, { requiredOnly: true });
}

function json(value) {
  const line = JSON.stringify(value);
  return line.length <= MAX_LINE_LENGTH ? line : JSON.stringify(value, null, 2).replaceAll("\n", "\n  ");
}

function quote(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

export function isBinary(schema) {
  return Boolean(schema?.contentMediaType);
}
