/** The analysis of a document in the browser: its operations, and its problems with the schema. */

import { checkDocument } from "./language/check.js";
import { parse } from "./language/parser.js";

/** @import { DefinitionNode, Problem } from "./language/ast.js" */
/** @import { DocumentSymbol } from "./language/check.js" */
/** @import { Schema } from "./language/schema.js" */

/** @typedef {{ name: string | null, kind: "query" | "mutation" | "subscription" }} OperationChoice */
/** @typedef {OperationChoice & { start: number, end: number }} OperationPlace */

/**
 * `symbols` have the parts of the document that the schema knows, with their positions.
 * @typedef {{ text: string, schema: Schema | null, ast: DefinitionNode[], operations: OperationPlace[], problems: Problem[], symbols: DocumentSymbol[], isSyntaxRight: boolean }} Analysis
 */

/**
 * Analyse a document. Without a schema, only its syntax is checked.
 * @param {string} text
 * @param {Schema | null} schema
 * @returns {Analysis}
 */
export function analyze(text, schema) {
  const { definitions, problems } = parse(text);
  const checked = checkDocument(definitions, schema);
  const operations = definitions.flatMap((one) => {
    if (one.kind !== "OperationDefinition") return [];
    return [{ name: one.name?.value ?? null, kind: one.operation, start: one.start, end: one.end }];
  });
  return {
    text, schema, ast: definitions, operations, symbols: checked.symbols, isSyntaxRight: !problems.length,
    // While the syntax is wrong, problems that follow from it would only distract.
    problems: problems.length ? problems : checked.problems,
  };
}

/**
 * Return the operation that runs: the chosen one, else the one at the caret, else the first.
 * @param {OperationPlace[]} operations
 * @param {string | null} chosen
 * @param {number} caret
 * @returns {OperationChoice | null}
 */
export function findOperation(operations, chosen, caret) {
  const named = operations.find(({ name }) => name !== null && name === chosen);
  const around = operations.find(({ start, end }) => start <= caret && caret <= end);
  const found = named ?? around ?? operations[0];
  return found ? { name: found.name, kind: found.kind } : null;
}
