/** A request as a shell command. */

import { quoteForShell } from "../shared/shell.js";
import { compactJson } from "./request.js";

/** @import { Credential, RequestPlan } from "./request.js" */

/**
 * Return the curl command of a request.
 * @param {RequestPlan} plan
 * @returns {string}
 */
export function curlCommand({ method, address, query, headers, credential, body, download }) {
  // With a body, curl would send the data of the query in it.
  const inAddress = body !== null && query.length > 0;
  const target = inAddress ? `${address}?${new URLSearchParams(query)}` : address;
  const separate = inAddress ? [] : query;
  const isDefault = body ? method === "POST" && body.kind !== "file" : method === "GET";
  const options = [...(isDefault ? [] : [`-X ${method}`]), ...(separate.length ? ["-G"] : [])];
  return [
    ["curl", ...options, quoteForShell(target)].join(" "),
    ...separate.map(([name, value]) => `--data-urlencode ${quoteForShell(`${encodeURIComponent(name)}=${value}`)}`),
    ...headers.map(([name, value]) => `-H ${quoteForShell(`${name}: ${value}`)}`),
    ...authentication(credential),
    ...bodyOptions(body),
    ...(download ? [`--output ${download}`] : []),
  ].join(" \\\n  ");
}

/**
 * @param {Credential} credential
 * @returns {string[]}
 */
function authentication(credential) {
  if (credential.kind === "token") {
    const { header, token } = credential;
    return [token === null ? `-H "${header}: $WATTGATE_TOKEN"` : `-H ${quoteForShell(`${header}: ${token}`)}`];
  }
  if (credential.kind === "none") return [];
  const { username, password } = credential;
  return [password === null ? '-u "$WATTGATE_USERNAME:$WATTGATE_PASSWORD"' : `-u ${quoteForShell(`${username}:${password}`)}`];
}

/**
 * @param {RequestPlan["body"]} body
 * @returns {string[]}
 */
function bodyOptions(body) {
  if (!body) return [];
  // curl itself sends this header for forms.
  if (body.kind === "form") {
    return body.pairs
      .filter(([, value]) => value)
      .map(([name, value]) => `--data-urlencode ${quoteForShell(`${encodeURIComponent(name)}=${value}`)}`);
  }
  const header = `-H ${quoteForShell(`Content-Type: ${body.media}`)}`;
  if (body.kind === "file") return [header, `--data-binary ${quoteForShell(`@${body.name || "FILE"}`)}`];
  // --data-raw sends a text that begins with @ as it is.
  return [header, `--data-raw ${quoteForShell(compactJson(body.text).replaceAll("\n", "\n  "))}`];
}
