/** An operation as a command for a shell, in which what only its user can know is a variable. */

import { sample } from "./schema.js";

const SHORT = 70;

export function curl({ method, path, parameters, body, credentials, answers }, reference) {
  const binary = answers.every(({ contents }) => contents.length && contents.every(({ schema }) => isBinary(schema)));
  const query = queryOf(parameters, reference);
  const options = [...(method === "GET" ? [] : [`-X ${method}`]), ...(query.length ? ["-G"] : [])];
  return [
    ["curl", ...options, `"${reference.baseUrl}${path.replace(/{(\w+)}/g, "$$$1")}"`].join(" "),
    ...query.map((pair) => `--data-urlencode ${quoted(pair)}`),
    ...headersFor(credentials, reference.schemes),
    ...(body ? [`-H "Content-Type: ${body.media}"`, `-d ${quoted(json(bodyOf(body, reference)))}`] : []),
    ...(binary ? ["--output answer.bin"] : []),
  ].join(" \\\n  ");
}

function queryOf(parameters, reference) {
  return parameters
    .filter((one) => one.in === "query" && (one.required || one.example !== undefined))
    .map((one) => `${one.name}=${one.example ?? sample(one.schema, reference, { name: one.name })}`);
}

/** The options by which a call authenticates: a header rather than HTTP's own scheme, where there is a choice. */
function headersFor(credentials, schemes) {
  const offered = credentials.map((name) => schemes[name]);
  const header = offered.find((scheme) => scheme?.type === "apiKey");
  if (header) return [`-H "${header.name}: $${header.name}"`];
  return offered.some((scheme) => scheme?.scheme === "basic") ? ['-u "$username:$password"'] : [];
}

function bodyOf({ schema, example }, reference) {
  return example ?? sample(schema, reference, { requiredOnly: true });
}

function json(value) {
  const line = JSON.stringify(value);
  return line.length <= SHORT ? line : JSON.stringify(value, null, 2).replaceAll("\n", "\n  ");
}

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

export function isBinary(schema) {
  return Boolean(schema?.contentMediaType);
}
