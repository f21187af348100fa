/** Finds fields of a document by their path from the root, also inside of fragments. */

import { isComposite, namedType } from "../language/schema.js";
import { selectionsOf } from "./text-edits.js";

/** @import { DefinitionNode, FieldNode, FragmentNode, SelectionNode, SelectionSetNode } from "../language/ast.js" */
/** @import { Field, Schema, SchemaType } from "../language/schema.js" */

/**
 * The names of fields from the root on. A name that begins with `...` is a type condition.
 * @typedef {string[]} Path
 */

/**
 * A place of a field: its node, the type that has it, and the fragment that it is written in.
 * @typedef {{ node: FieldNode, owner: SchemaType, fragment: FragmentNode | null }} Found
 */

/** @typedef {{ selectionSet?: SelectionSetNode | null }} Container */

/**
 * Return where a container selects a field. Aliases of the same field are several places.
 * @param {Container} container
 * @param {SchemaType} owner  The type of the container.
 * @param {Path} path
 * @param {DefinitionNode[]} definitions
 * @param {Schema} schema
 * @returns {Found[]}
 */
export function findFields(container, owner, path, definitions, schema) {
  return find(container, owner, path, { definitions, schema, fragment: null, visited: [] });
}

/**
 * @typedef {object} Search
 * @property {DefinitionNode[]} definitions
 * @property {Schema} schema
 * @property {FragmentNode | null} fragment  The named fragment around the container.
 * @property {FragmentNode[]} visited  The named fragments that are open, so that a cycle ends.
 */

/**
 * @param {Container} container
 * @param {SchemaType} owner
 * @param {Path} path
 * @param {Search} search
 * @returns {Found[]}
 */
function find(container, owner, [wanted, ...rest], search) {
  const { schema } = search;
  return selectionsOf(container).flatMap((node) => {
    if (node.kind === "Field") {
      if (node.name.value !== wanted) return [];
      if (!rest.length) return [{ node, owner, fragment: search.fragment }];
      const field = schema.field(owner, wanted);
      const type = field && schema.type(namedType(field.type));
      return type ? find(node, type, rest, search) : [];
    }
    const named = node.kind === "FragmentSpread" ? definitionOf(node.name?.value, search) : null;
    const body = node.kind === "FragmentSpread" ? named : node;
    if (!body || (named && search.visited.includes(named))) return [];
    const condition = body.typeCondition?.name.value ?? owner.name;
    const type = schema.type(condition);
    const remaining = condition === owner.name ? [wanted, ...rest] : wanted === `...${condition}` ? rest : [];
    if (!type || !remaining.length) return [];
    const inner = named ? { ...search, fragment: named, visited: [...search.visited, named] } : search;
    return find(body, type, remaining, inner);
  });
}

/**
 * @param {string | undefined} name
 * @param {Search} search
 * @returns {FragmentNode | null}
 */
function definitionOf(name, { definitions }) {
  const found = definitions.find((one) => one.kind === "FragmentDefinition" && one.name?.value === name);
  return found?.kind === "FragmentDefinition" ? found : null;
}

/**
 * Return the nodes from a definition to a node inside of it, null if it is not inside.
 * @param {DefinitionNode | SelectionNode} node
 * @param {FieldNode} wanted
 * @returns {(DefinitionNode | Exclude<SelectionNode, { kind: "FragmentSpread" }>)[] | null}
 */
export function ancestors(node, wanted) {
  if (node.kind === "FragmentSpread") return null;
  if (node === wanted) return [node];
  for (const child of selectionsOf(node)) {
    const found = ancestors(child, wanted);
    if (found) return [node, ...found];
  }
  return null;
}

/**
 * Return whether a field has fields to choose from.
 * @param {Schema} schema
 * @param {Field} field
 * @returns {boolean}
 */
export function hasFields(schema, field) {
  const type = schema.type(namedType(field.type));
  return Boolean(type && isComposite(type));
}
