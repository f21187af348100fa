/** A request as Python code with httpx. */

import { isExactJson } from "./request.js";

/** @import { BodyValue, Credential, RequestPlan } from "./request.js" */

/** @type {Record<string, string>} */
const NAMES = { true: "True", false: "False", null: "None" };
const TOKENS = /"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g;

/**
 * Return the Python code of a request.
 * @param {RequestPlan} plan
 * @returns {string}
 */
export function pythonCode(plan) {
  const { method, address, query, credential, body, download } = plan;
  const usesEnvironment =
    (credential.kind === "token" && credential.token === null) || (credential.kind === "basic" && credential.password === null);
  const opens = body?.kind === "file" || download;
  const options = [
    text(method),
    text(address),
    ...(query.length ? [pairs("params", query)] : []),
    ...headers(plan),
    ...(credential.kind === "basic" ? [`auth=(${basic(credential)})`] : []),
    ...(body ? [bodyArgument(body)] : []),
    "timeout=30,",
  ].map((line) => indent(line.endsWith(",") ? line : `${line},`));
  return [
    ...(usesEnvironment ? ["import os"] : []),
    ...(opens ? ["from pathlib import Path"] : []),
    ...(usesEnvironment || opens ? [""] : []),
    "import httpx  # pip install httpx",
    "",
    "response = httpx.request(",
    ...options,
    ")",
    ...(download
      ? ["print(response.status_code)", `Path(${text(download)}).write_bytes(response.content)`]
      : ["print(response.status_code, response.text)"]),
  ].join("\n");
}

/** @param {RequestPlan} plan */
function headers({ headers: given, credential, body }) {
  const lines = given.map(([name, value]) => `${text(name)}: ${text(value)},`);
  if (credential.kind === "token") {
    const token = credential.token === null ? 'os.environ["WATTGATE_TOKEN"]' : text(credential.token);
    lines.push(`${text(credential.header)}: ${token},`);
  }
  // httpx itself sends this header for forms and, if the body is a value, for JSON.
  if (body && (body.kind === "file" || (body.kind === "json" && !isExactJson(body.text)))) {
    lines.push(`"Content-Type": ${text(body.media)},`);
  }
  if (lines.length === 0) return [];
  if (lines.length === 1) return [`headers={${lines[0].replace(/,$/, "")}}`];
  return [`headers={\n${lines.map((line) => indent(line)).join("\n")}\n}`];
}

/** @param {Extract<Credential, { kind: "basic" }>} credential */
function basic({ username, password }) {
  if (password === null) return 'os.environ["WATTGATE_USERNAME"], os.environ["WATTGATE_PASSWORD"]';
  return `${text(username ?? "")}, ${text(password)}`;
}

/** @param {BodyValue} body */
function bodyArgument(body) {
  if (body.kind === "file") return `content=Path(${text(body.name || "FILE")}).read_bytes()`;
  if (body.kind === "json") return isExactJson(body.text) ? `json=${literal(body.text.trim())}` : `content=${text(body.text)}`;
  const given = body.pairs.filter(([, value]) => value);
  return `data={${given.map(([name, value]) => `\n    ${text(name)}: ${text(value)},`).join("")}${given.length ? "\n" : ""}}`;
}

/**
 * @param {string} name
 * @param {[string, string][]} list
 */
function pairs(name, list) {
  return `${name}=[\n${list.map(([one, value]) => `    (${text(one)}, ${text(value)}),`).join("\n")}\n]`;
}

/** @param {string} json */
function literal(json) {
  return json.replace(TOKENS, (token) => NAMES[token] ?? text(JSON.parse(token)));
}

/**
 * Return a text as a Python literal. All escapes of JSON are also escapes of Python.
 * @param {string} value
 * @returns {string}
 */
function text(value) {
  return JSON.stringify(value);
}

/** @param {string} lines */
function indent(lines) {
  return lines.replace(/^/gm, "    ");
}
