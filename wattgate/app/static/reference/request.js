/** The request of an operation with the values of its form: what the page sends, and what the samples of code show. */

import { redactJson } from "../shared/secrets.js";
import { plainMembers } from "./body-fields.js";
import { example, isSecret, secretMembers } from "./schema.js";

/** @import { Content, Operation, Parameter, Reference } from "./openapi.js" */

/**
 * The values of a form. An empty text is left out of the request.
 * @typedef {object} FormValues
 * @property {Record<string, string>} parameters  By `parameterKey`.
 * @property {BodyValue | null} body
 * @property {string} accept  The media type of the response, or empty for the usual one.
 */

/**
 * The body of a request: a JSON text, pairs of a form, or the name of a file that is sent as it is.
 * @typedef {{ kind: "json", media: string, text: string }
 *   | { kind: "form", media: string, pairs: [string, string][] }
 *   | { kind: "file", media: string, name: string }} BodyValue
 */

/**
 * How the request authenticates. The secrets are null where the code reads them from the environment.
 * @typedef {{ kind: "none" }
 *   | { kind: "token", header: string, token: string | null }
 *   | { kind: "basic", username: string | null, password: string | null }} Credential
 */

/**
 * A request that a language can write. The path of the address is encoded, the query is not.
 * @typedef {object} RequestPlan
 * @property {string} method
 * @property {string} address
 * @property {[string, string][]} query
 * @property {[string, string][]} headers  Without those of the credential and the body.
 * @property {Credential} credential
 * @property {BodyValue | null} body
 * @property {string | null} download  The name of the file for a binary response.
 */

/** A value that is missing or that no request can carry. @typedef {{ key: string, message: string }} Problem */

const USER_HEADER = "header.userId";
const JSON_MEDIA = "application/json";
const FORM_MEDIA = "application/x-www-form-urlencoded";
/** @type {Record<string, string>} The ends of the names of files, by media type. */
const EXTENSIONS = { "application/zip": "zip", "application/pdf": "pdf", "application/vnd.apache.arrow.stream": "arrows" };
/** Code has this text in place of a secret of the form. */
const SECRET_PLACEHOLDER = "YOUR_SECRET";

/**
 * Return the name under which a form has the value of a parameter.
 * @param {Parameter} parameter
 * @returns {string}
 */
export function parameterKey(parameter) {
  return `${parameter.in}.${parameter.name}`;
}

/**
 * Return the values with which a form starts: the examples of the document.
 * @param {Operation} operation
 * @param {Pick<Reference, "resolve">} reference
 * @returns {FormValues}
 */
export function initialValues(operation, reference) {
  const parameters = Object.fromEntries(
    operation.parameters.map((parameter) => [parameterKey(parameter), initialValue(parameter, reference)]),
  );
  const [content] = operation.bodies;
  return { parameters, body: content ? initialBody(content, reference) : null, accept: "" };
}

/**
 * @param {Parameter} parameter
 * @param {Pick<Reference, "resolve">} reference
 */
function initialValue({ example: given, schema, required }, reference) {
  const resolved = reference.resolve(schema);
  const value = given ?? resolved.example ?? resolved.default ?? (required ? resolved.enum?.[0] : undefined);
  return value === undefined ? "" : String(value);
}

/**
 * Return the body with which a form starts.
 * @param {Content} content
 * @param {Pick<Reference, "resolve">} reference
 * @returns {BodyValue}
 */
export function initialBody(content, reference) {
  const { media } = content;
  if (media === JSON_MEDIA) {
    const value = isOptional(content, reference) ? {} : example(content, reference, { requiredOnly: true });
    return { kind: "json", media, text: JSON.stringify(value, null, 2) };
  }
  if (media === FORM_MEDIA) {
    const value = example(content, reference, { requiredOnly: false });
    const pairs = Object.entries(value ?? {}).map(([name, text]) => /** @type {[string, string]} */ ([name, String(text)]));
    return { kind: "form", media, pairs };
  }
  return { kind: "file", media, name: "" };
}

/**
 * Return whether a body is an object of plain values that are all optional, so that no sample of it is worth sending.
 * @param {Content} content
 * @param {Pick<Reference, "resolve">} reference
 */
function isOptional(content, reference) {
  const members = content.example === undefined ? plainMembers(content, reference) : [];
  return members.length > 0 && members.every(({ required }) => !required);
}

/**
 * Return why a request cannot be sent: required values that are missing, and values that no request can carry.
 * @param {Operation} operation
 * @param {FormValues} values
 * @returns {Problem[]}
 */
export function findProblems(operation, values) {
  const problems = operation.parameters.flatMap((parameter) => {
    const key = parameterKey(parameter);
    const message = parameterProblem(parameter, values.parameters[key] ?? "");
    return message ? [{ key, message }] : [];
  });
  const message = bodyProblem(values.body, operation);
  return message ? [...problems, { key: "body", message }] : problems;
}

/**
 * @param {Parameter} parameter
 * @param {string} value
 */
function parameterProblem(parameter, value) {
  const { name } = parameter;
  if (parameter.required && !value) return `Enter ${name}.`;
  // Browsers and curl remove these segments from an address, even if they are encoded.
  if (parameter.in === "path" && /^\.{1,2}$/.test(value)) return `${name} cannot be ${value} in an address.`;
  if (parameter.in === "header" && !/^[\x20-\x7e]*$/.test(value)) return `${name} is a header, which takes only ASCII.`;
  return null;
}

/**
 * @param {BodyValue | null} body
 * @param {Operation} operation
 */
function bodyProblem(body, operation) {
  if (body?.kind === "file") return body.name || !operation.bodyRequired ? null : "Choose a file for the body.";
  if (body?.kind !== "json") return null;
  if (!body.text.trim()) return operation.bodyRequired ? "Enter a body." : null;
  try {
    JSON.parse(body.text);
    return null;
  } catch (error) {
    return `The body is not JSON: ${error instanceof Error ? error.message : error}.`;
  }
}

/**
 * Return the request of an operation.
 * @param {Operation} operation
 * @param {FormValues} values
 * @param {Pick<Reference, "baseUrl">} reference
 * @param {Credential} credential
 * @param {string} [userId]  The user for whom an application acts, unless the form names one.
 * @returns {RequestPlan}
 */
export function planRequest(operation, values, reference, credential, userId = "") {
  /** @param {string} place */
  const given = (place) =>
    operation.parameters
      .filter((parameter) => parameter.in === place)
      .map((parameter) => /** @type {[string, string]} */ ([parameter.name, values.parameters[parameterKey(parameter)] ?? ""]));
  const inPath = new Map(given("path"));
  const path = operation.path.replace(/{(\w+)}/g, (_, name) => encodeURIComponent(inPath.get(name) || placeholder(name)));
  /** @type {[string, string][]} */
  const acting = userId && !values.parameters[USER_HEADER] ? [["userId", userId]] : [];
  return {
    method: operation.method,
    address: reference.baseUrl + path,
    query: given("query").filter(([, value]) => value),
    headers: [...acting, ...given("header").filter(([, value]) => value), ...(values.accept ? [acceptHeader(values.accept)] : [])],
    credential,
    body: values.body?.kind === "json" && !values.body.text.trim() ? null : values.body,
    download: downloadName(operation, values.accept),
  };
}

/**
 * @param {string} media
 * @returns {[string, string]}
 */
function acceptHeader(media) {
  return ["Accept", media];
}

/**
 * Return the name in capitals that stands for a missing value, such as RESOURCE_ID.
 * @param {string} name
 */
function placeholder(name) {
  return name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toUpperCase();
}

/**
 * @param {Operation} operation
 * @param {string} accept
 */
function downloadName({ responses }, accept) {
  const contents = responses.flatMap((response) => response.contents);
  const chosen = contents.find(({ media }) => media === accept) ?? contents[0];
  if (!chosen || /json|^text\//.test(chosen.media)) return null;
  return fileName(chosen.media);
}

/**
 * Return the name of a file for a response of a media type.
 * @param {string} media
 * @returns {string}
 */
export function fileName(media) {
  return `response.${EXTENSIONS[media.split(";")[0]] ?? "bin"}`;
}

/**
 * Return the request with placeholders for the secrets that the user typed into the form.
 * @param {RequestPlan} plan
 * @param {Operation} operation
 * @param {Pick<Reference, "resolve">} reference
 * @returns {RequestPlan}
 */
export function hideSecrets(plan, operation, reference) {
  const query = plan.query.map(hideValue);
  const headers = plan.headers.map(hideValue);
  return { ...plan, query, headers, body: plan.body && hideInBody(plan.body, operation, reference) };
}

/**
 * @param {[string, string]} pair
 * @returns {[string, string]}
 */
function hideValue([name, value]) {
  return [name, isSecret(name) && value ? SECRET_PLACEHOLDER : value];
}

/**
 * @param {BodyValue} body
 * @param {Operation} operation
 * @param {Pick<Reference, "resolve">} reference
 * @returns {BodyValue}
 */
function hideInBody(body, operation, reference) {
  if (body.kind === "form") return { ...body, pairs: body.pairs.map(hideValue) };
  if (body.kind !== "json") return body;
  const content = operation.bodies.find(({ media }) => media === body.media);
  const names = content ? secretMembers(content.schema, reference) : [];
  return { ...body, text: redactJson(body.text, { placeholder: SECRET_PLACEHOLDER, names }) };
}

/**
 * Return whether the form has a secret that code leaves out.
 * @param {RequestPlan} plan
 * @param {Operation} operation
 * @param {Pick<Reference, "resolve">} reference
 * @returns {boolean}
 */
export function hasSecrets(plan, operation, reference) {
  return JSON.stringify(hideSecrets(plan, operation, reference)) !== JSON.stringify(plan);
}

/**
 * Return the address of a request with its query.
 * @param {RequestPlan} plan
 * @returns {string}
 */
export function fullAddress({ address, query }) {
  return query.length ? `${address}?${new URLSearchParams(query)}` : address;
}

/**
 * Return a JSON text on one line if it is short, else as it is. Numbers keep their digits.
 * @param {string} text
 * @param {number} [length]
 * @returns {string}
 */
export function compactJson(text, length = 70) {
  const line = withoutSpace(text);
  return line.length <= length && isJson(text) ? line : text;
}

/**
 * Return whether a JSON text has the same value as an expression in a language with floating-point numbers.
 * @param {string} text
 * @returns {boolean}
 */
export function isExactJson(text) {
  return isJson(text) && JSON.stringify(JSON.parse(text)) === withoutSpace(text);
}

/** @param {string} text */
function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Remove the white space outside of the strings of a JSON text.
 * @param {string} json
 */
function withoutSpace(json) {
  return json.replace(/("(?:[^"\\]|\\.)*")|\s+/g, "$1");
}
