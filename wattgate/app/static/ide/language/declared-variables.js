/** The variables that operations declare, with their types. */

/** @import { DefinitionNode, OperationNode, TypeNode } from "./ast.js" */
/** @import { TypeRef } from "./schema.js" */

/** A variable. The type is null while it cannot be read. @typedef {{ name: string, type: TypeRef | null, hasDefault: boolean }} DeclaredVariable */

/**
 * @param {DefinitionNode[]} definitions
 * @returns {OperationNode[]}
 */
export function operationsOf(definitions) {
  return definitions.filter((one) => one.kind === "OperationDefinition");
}

/**
 * Return the variables of an operation.
 * @param {OperationNode} operation
 * @returns {DeclaredVariable[]}
 */
export function declaredVariables({ variableDefinitions }) {
  return variableDefinitions.flatMap(({ variable, type, defaultValue }) => {
    return variable.name ? [{ name: variable.name.value, type: type && typeRef(type), hasDefault: defaultValue !== null }] : [];
  });
}

/**
 * Return the type of a node. Null if a part of it is missing.
 * @param {TypeNode} node
 * @returns {TypeRef | null}
 */
export function typeRef(node) {
  if (node.kind === "NamedType") return { kind: "NAMED", name: node.name.value };
  const of = node.type && typeRef(node.type);
  return of && { kind: node.kind === "ListType" ? "LIST" : "NON_NULL", of };
}
