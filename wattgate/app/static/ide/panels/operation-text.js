/** One operation of a document with the fragments that it uses, for clients that take one operation. */

import { parse } from "../language/parser.js";
import { tokenize } from "../language/lexer.js";

/** @import { FragmentNode, OperationNode } from "../language/ast.js" */

/** @typedef {{ text: string, kind: OperationNode["operation"], name: string | null }} OperationText */

/**
 * Return an operation of a document, by name or the first one, as a text of its own. Null if there is none.
 * @param {string} text
 * @param {string | null} name
 * @returns {OperationText | null}
 */
export function operationText(text, name) {
  const { definitions } = parse(text);
  const operations = definitions.filter((one) => one.kind === "OperationDefinition");
  const operation = operations.find((one) => one.name?.value === name) ?? operations[0];
  if (!operation) return null;
  const found = { kind: operation.operation, name: operation.name?.value ?? null };
  // A document with one operation stays as it is, with its comments.
  if (operations.length === 1) return { ...found, text };
  const fragments = definitions.filter((one) => one.kind === "FragmentDefinition");
  const used = usedFragments(text, operation, fragments);
  const parts = definitions.filter((one) => one === operation || used.has(/** @type {FragmentNode} */ (one)));
  return { ...found, text: `${parts.map(({ start, end }) => text.slice(start, end)).join("\n\n")}\n` };
}

/**
 * @param {string} text
 * @param {OperationNode} operation
 * @param {FragmentNode[]} fragments
 * @returns {Set<FragmentNode>}
 */
function usedFragments(text, operation, fragments) {
  const tokens = tokenize(text);
  /** @type {Set<FragmentNode>} */
  const used = new Set();
  /** @type {(OperationNode | FragmentNode)[]} */
  const open = [operation];
  for (let next = open.pop(); next; next = open.pop()) {
    const { start, end } = next;
    tokens.forEach((token, index) => {
      if (token.text !== "..." || token.start < start || token.end > end) return;
      const fragment = fragments.find((one) => one.name?.value === tokens[index + 1]?.text);
      if (fragment && !used.has(fragment)) {
        used.add(fragment);
        open.push(fragment);
      }
    });
  }
  return used;
}
