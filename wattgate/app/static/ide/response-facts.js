/** The facts about a response, in words. */

import { element } from "../shared/dom.js";
import { formatCount, formatDuration, formatSize, plural } from "../shared/quantities.js";

/** @import { GraphQLResponse } from "./requests.js" */

/**
 * Return the status, time, size, cost and remaining budget of a response.
 * @param {GraphQLResponse} response
 * @returns {HTMLElement[]}
 */
export function describeResponse({ status, milliseconds, bytes, body }) {
  const cost = body?.extensions?.cost;
  const hasErrors = Boolean(body?.errors?.length);
  const facts = [
    ["status", `${status}${hasErrors && status < 400 ? ` with ${plural(body.errors.length, "error")}` : ""}`],
    ["time", formatDuration(milliseconds)],
    ["size", formatSize(bytes)],
    ...(cost ? [["cost", describeCost(cost)]] : []),
  ];
  const isWrong = status >= 400 || hasErrors;
  return facts.map(([name, text]) => element("span", { class: `fact ${name}${name === "status" && isWrong ? " wrong" : ""}` }, text));
}

/**
 * Return the cost of an operation and the budget in words.
 * @param {{ estimated?: number, charged?: number, remaining?: number, limit?: number }} cost
 */
export function describeCost({ estimated = 0, charged, remaining, limit }) {
  const own = `cost ${formatCount(charged || estimated)}`;
  return remaining === undefined || limit === undefined ? own : `${own}, ${formatCount(remaining)} of ${formatCount(limit)} left`;
}

/**
 * Return what a person does about a response that is refused, or null.
 * @param {Pick<GraphQLResponse, "status" | "headers" | "body">} response
 * @param {boolean} usesSession  Whether the request had the token of the page's session.
 * @returns {{ message: string, offersLogin: boolean } | null}
 */
export function explainFailure({ status, headers, body }, usesSession) {
  /** @type {string[]} */
  const codes = (body?.errors ?? []).map((/** @type {any} */ error) => error.extensions?.code);
  if (status === 401 || (codes.includes("UNAUTHENTICATED") && !usesSession)) {
    const message = usesSession
      ? "The session has expired or was ended. Log in again: the document stays as it is."
      : "The operation needs a valid log-in. Log in, or correct the headers of the document.";
    return { message, offersLogin: true };
  }
  if (status === 429 || codes.includes("RATE_LIMITED")) {
    const seconds = headers["retry-after"];
    const reason = body?.errors?.[0]?.message ?? "Too many requests.";
    const says = !seconds || reason.includes(`${seconds} s`);
    return { message: says ? reason : `${reason} Run it again in ${seconds} s.`, offersLogin: false };
  }
  if (body === undefined) return { message: "The response is not JSON. A proxy in front of the gateway may have sent it.", offersLogin: false };
  return null;
}
