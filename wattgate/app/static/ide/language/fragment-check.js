/** Checks what needs no schema: fragments and variables that are used but not defined, or defined but not used. */

import { nearestName } from "./nearest.js";

/** @import { ArgumentNode, DefinitionNode, DirectiveNode, FragmentNode, FragmentSpreadNode, NameNode, OperationNode, Problem, SelectionSetNode, ValueNode } from "./ast.js" */

/**
 * The uses of a definition: names of variables and of fragments.
 * @typedef {{ variables: NameNode[], spreads: FragmentSpreadNode[] }} Uses
 */

/**
 * @param {DefinitionNode[]} definitions
 * @returns {Map<string, FragmentNode>}
 */
export function collectFragments(definitions) {
  /** @type {Map<string, FragmentNode>} */
  const found = new Map();
  for (const one of definitions) {
    if (one.kind === "FragmentDefinition" && one.name && !found.has(one.name.value)) found.set(one.name.value, one);
  }
  return found;
}

/**
 * @param {DefinitionNode[]} definitions
 * @param {Map<string, FragmentNode>} fragments
 * @returns {Problem[]}
 */
export function checkFragments(definitions, fragments) {
  const uses = new Map(definitions.map((one) => [one, usesOf(one)]));
  /** @type {Problem[]} */
  const problems = [];
  const reached = new Set();
  for (const definition of definitions) {
    for (const { name } of uses.get(definition)?.spreads ?? []) {
      if (name && !fragments.has(name.value)) problems.push(unknown(name, "fragment", fragments.keys(), ""));
    }
    if (definition.kind === "OperationDefinition") problems.push(...checkVariables(definition, uses, fragments, reached));
  }
  const operations = definitions.filter((one) => one.kind === "OperationDefinition");
  problems.push(...checkNames(definitions));
  for (const fragment of fragments.values()) {
    const isCircular = fragment.name && reachable(fragment, uses, fragments).has(fragment);
    if (isCircular) problems.push({ ...place(fragment), message: "The fragment contains itself." });
    else if (operations.length && !reached.has(fragment)) {
      problems.push({ ...place(fragment), message: `The fragment "${fragment.name?.value}" is not used.` });
    }
  }
  return problems;
}

/**
 * @param {OperationNode} operation
 * @param {Map<DefinitionNode, Uses>} uses
 * @param {Map<string, FragmentNode>} fragments
 * @param {Set<DefinitionNode>} reached  Gets the fragments that the operation uses.
 * @returns {Problem[]}
 */
function checkVariables(operation, uses, fragments, reached) {
  const inside = reachable(operation, uses, fragments);
  for (const fragment of inside) reached.add(fragment);
  const used = [operation, ...inside].flatMap((one) => uses.get(one)?.variables ?? []);
  const defined = operation.variableDefinitions.flatMap(({ variable: { name, start, end } }) => (name ? { value: name.value, start, end } : []));
  const names = defined.map(({ value }) => value);
  const usedNames = new Set(used.map(({ value }) => value));
  /** @type {Problem[]} */
  const problems = used.filter(({ value }) => !names.includes(value)).map((name) => unknown(name, "variable", names, "$"));
  defined.forEach((name, index) => {
    if (names.indexOf(name.value) < index) problems.push({ ...name, message: `The variable "$${name.value}" is defined twice.` });
    else if (!usedNames.has(name.value)) problems.push({ ...name, message: `The variable "$${name.value}" is not used.` });
  });
  return problems.map(({ start, end, message, fix }) => ({ start, end, message, ...(fix && { fix }) }));
}

/**
 * @param {DefinitionNode[]} definitions
 * @returns {Problem[]}
 */
function checkNames(definitions) {
  const operations = definitions.filter((one) => one.kind === "OperationDefinition");
  /** @type {Problem[]} */
  const problems = [];
  const seen = new Set();
  for (const one of definitions) {
    const key = `${one.kind} ${one.name?.value}`;
    if (one.name && seen.has(key)) problems.push({ ...place(one), message: `The name "${one.name.value}" is there twice.` });
    seen.add(key);
    if (operations.length > 1 && one.kind === "OperationDefinition" && !one.name) {
      problems.push({ start: one.start, end: one.start + 1, message: "With several operations, each needs a name." });
    }
  }
  return problems;
}

/**
 * @param {NameNode} name
 * @param {string} what
 * @param {Iterable<string>} known
 * @param {string} sign
 * @returns {Problem}
 */
function unknown({ value, start, end }, what, known, sign) {
  const near = nearestName(value, known);
  const message = `The ${what} "${sign}${value}" is not defined.${near ? ` Did you mean "${sign}${near}"?` : ""}`;
  return { start, end, message, ...(near && { fix: { title: `Change to ${sign}${near}`, text: near } }) };
}

/** @param {DefinitionNode} definition */
function place(definition) {
  const { start, end } = definition.name ?? definition;
  return { start, end };
}

/**
 * Return the fragments that a definition uses, in others too.
 * @param {DefinitionNode} definition
 * @param {Map<DefinitionNode, Uses>} uses
 * @param {Map<string, FragmentNode>} fragments
 * @returns {Set<FragmentNode>}
 */
function reachable(definition, uses, fragments) {
  /** @type {Set<FragmentNode>} */
  const found = new Set();
  /** @type {DefinitionNode[]} */
  const waiting = [definition];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    for (const { name } of uses.get(next)?.spreads ?? []) {
      const fragment = name && fragments.get(name.value);
      if (!fragment || found.has(fragment)) continue;
      found.add(fragment);
      waiting.push(fragment);
    }
  }
  return found;
}

/**
 * @param {DefinitionNode} definition
 * @returns {Uses}
 */
function usesOf(definition) {
  /** @type {Uses} */
  const uses = { variables: [], spreads: [] };
  addDirectives(definition.directives, uses);
  if (definition.selectionSet) addSelections(definition.selectionSet, uses);
  return uses;
}

/**
 * @param {SelectionSetNode} set
 * @param {Uses} uses
 */
function addSelections(set, uses) {
  for (const selection of set.selections) {
    addDirectives(selection.directives, uses);
    if (selection.kind === "FragmentSpread") {
      uses.spreads.push(selection);
      continue;
    }
    if (selection.kind === "Field") addArguments(selection.arguments, uses);
    if (selection.selectionSet) addSelections(selection.selectionSet, uses);
  }
}

/**
 * @param {DirectiveNode[]} directives
 * @param {Uses} uses
 */
function addDirectives(directives, uses) {
  for (const one of directives) addArguments(one.arguments, uses);
}

/**
 * @param {ArgumentNode[]} list
 * @param {Uses} uses
 */
function addArguments(list, uses) {
  for (const { value } of list) if (value) addValue(value, uses);
}

/**
 * @param {ValueNode} value
 * @param {Uses} uses
 */
function addValue(value, uses) {
  if (value.kind === "Variable" && value.name) uses.variables.push(value.name);
  if (value.kind === "ListValue") for (const one of value.values) addValue(one, uses);
  if (value.kind === "ObjectValue") for (const { value: one } of value.fields) if (one) addValue(one, uses);
}
