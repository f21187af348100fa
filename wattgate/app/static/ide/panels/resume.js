/** The position of a subscription: where its document takes it, and the request that continues after it. */

import { operationsOf } from "../language/declared-variables.js";
import { parse } from "../language/parser.js";
import { applyEdits } from "./text-edits.js";

/** @import { ValueNode } from "../language/ast.js" */

/** @typedef {{ query: string, variables: Record<string, unknown>, operationName: string | null }} LiveRequest */

const SINCE = "since";

/**
 * Return the value of the argument `since` of a subscription, null if the document does not write it.
 * @param {LiveRequest} request
 * @returns {ValueNode | null}
 */
function sinceOf({ query, operationName }) {
  const operations = operationsOf(parse(query).definitions);
  const operation = operations.find(({ name }) => name?.value === operationName) ?? operations[0];
  const [field] = operation?.selectionSet?.selections ?? [];
  const since = field?.kind === "Field" ? field.arguments.find(({ name }) => name.value === SINCE) : null;
  return since?.value ?? null;
}

/**
 * Return whether a subscription can continue after its last position.
 * @param {LiveRequest} request
 * @returns {boolean}
 */
export function canResume(request) {
  return sinceOf(request) !== null;
}

/**
 * Return a request that continues after a position. Null begins at the present, with a first position: the variable is
 * then null, not left out, because only null asks for positions.
 * @param {LiveRequest} request
 * @param {string | null} position
 * @returns {LiveRequest}
 */
export function requestSince(request, position) {
  const since = sinceOf(request);
  if (!since) return request;
  if (since.kind === "Variable") {
    const name = since.name?.value ?? SINCE;
    const own = request.variables[name] ?? null;
    return { ...request, variables: { ...request.variables, [name]: position ?? own } };
  }
  if (position === null) return request;
  return { ...request, query: applyEdits(request.query, [{ ...since, text: JSON.stringify(position) }]) };
}
