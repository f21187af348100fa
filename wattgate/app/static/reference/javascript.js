/** A request as a JavaScript module for Node and other runtimes with `fetch`. */

import { isExactJson } from "./request.js";

/** @import { BodyValue, Credential, RequestPlan } from "./request.js" */

const TOKEN = "process.env.WATTGATE_TOKEN";
const LOGIN = "`${process.env.WATTGATE_USERNAME}:${process.env.WATTGATE_PASSWORD}`";

/**
 * Return the JavaScript code of a request.
 * @param {RequestPlan} plan
 * @returns {string}
 */
export function javascriptCode(plan) {
  const { method, address, query, body, download } = plan;
  const reads = body?.kind === "file";
  const files = [...(reads ? ["readFile"] : []), ...(download ? ["writeFile"] : [])];
  const options = [
    ...(method === "GET" ? [] : [`method: ${text(method)},`]),
    ...headerLines(plan),
    ...(body ? [`body: ${bodyExpression(body)},`] : []),
  ];
  return [
    ...(files.length ? [`import { ${files.join(", ")} } from "node:fs/promises";`, ""] : []),
    `const url = new URL(${text(address)});`,
    ...query.map(([name, value]) => `url.searchParams.append(${text(name)}, ${text(value)});`),
    "",
    ...(options.length
      ? ["const response = await fetch(url, {", ...options.map((line) => indent(line)), "});"]
      : ["const response = await fetch(url);"]),
    ...(download
      ? ["console.log(response.status);", `await writeFile(${text(download)}, Buffer.from(await response.arrayBuffer()));`]
      : ["console.log(response.status, await response.text());"]),
  ].join("\n");
}

/** @param {RequestPlan} plan */
function headerLines({ headers, credential, body }) {
  const lines = [
    ...headers.map(([name, value]) => `${key(name)}: ${text(value)},`),
    ...authentication(credential),
    // fetch itself sends this header for forms.
    ...(body && body.kind !== "form" ? [`"Content-Type": ${text(body.media)},`] : []),
  ];
  if (lines.length === 0) return [];
  if (lines.length === 1) return [`headers: { ${lines[0].replace(/,$/, "")} },`];
  return [`headers: {\n${lines.map((line) => indent(line)).join("\n")}\n},`];
}

/**
 * @param {Credential} credential
 * @returns {string[]}
 */
function authentication(credential) {
  if (credential.kind === "none") return [];
  if (credential.kind === "token") {
    return [`${key(credential.header)}: ${credential.token === null ? TOKEN : text(credential.token)},`];
  }
  const { username, password } = credential;
  const login = password === null ? LOGIN : text(`${username}:${password}`);
  return [`Authorization: "Basic " + Buffer.from(${login}).toString("base64"),`];
}

/** @param {BodyValue} body */
function bodyExpression(body) {
  if (body.kind === "file") return `await readFile(${text(body.name || "FILE")})`;
  if (body.kind === "json") return isSafeLiteral(body.text) ? `JSON.stringify(${body.text.trim()})` : text(body.text);
  const pairs = body.pairs.filter(([, value]) => value).map(([name, value]) => `  [${text(name)}, ${text(value)}],`);
  return pairs.length ? `new URLSearchParams([\n${pairs.join("\n")}\n])` : "new URLSearchParams()";
}

/**
 * Return whether a JSON text is an expression of the same value. A member `__proto__` would be the prototype.
 * @param {string} source
 */
function isSafeLiteral(source) {
  return !source.includes("__proto__") && isExactJson(source);
}

/** @param {string} value */
function text(value) {
  return JSON.stringify(value);
}

/** @param {string} name */
function key(name) {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : text(name);
}

/** @param {string} lines */
function indent(lines) {
  return lines.replace(/^/gm, "  ");
}
