/** The nodes of a parsed document, named as in graphql-js. Parts that are missing while somebody types are null. */

/** @typedef {{ value: string, start: number, end: number }} NameNode */
/** @typedef {{ start: number, end: number, message: string, fix?: { title: string, text: string } }} Problem */

/** @typedef {{ kind: "NamedType", name: NameNode, start: number, end: number }} NamedTypeNode */
/** @typedef {{ kind: "ListType", type: TypeNode | null, start: number, end: number }} ListTypeNode */
/** @typedef {{ kind: "NonNullType", type: NamedTypeNode | ListTypeNode, start: number, end: number }} NonNullTypeNode */
/** @typedef {NamedTypeNode | ListTypeNode | NonNullTypeNode} TypeNode */

/** @typedef {{ kind: "Variable", name: NameNode | null, start: number, end: number }} VariableNode */
/** @typedef {{ kind: "IntValue" | "FloatValue" | "StringValue" | "BooleanValue" | "NullValue" | "EnumValue", value: string, isBlock?: boolean, start: number, end: number }} ScalarNode */
/** @typedef {{ kind: "ListValue", values: ValueNode[], start: number, end: number }} ListValueNode */
/** @typedef {{ kind: "ObjectField", name: NameNode, value: ValueNode | null, start: number, end: number }} ObjectFieldNode */
/** @typedef {{ kind: "ObjectValue", fields: ObjectFieldNode[], start: number, end: number }} ObjectValueNode */
/** @typedef {VariableNode | ScalarNode | ListValueNode | ObjectValueNode} ValueNode */

/** @typedef {{ kind: "Argument", name: NameNode, value: ValueNode | null, start: number, end: number }} ArgumentNode */
/** @typedef {{ kind: "Directive", name: NameNode | null, arguments: ArgumentNode[], start: number, end: number }} DirectiveNode */

/**
 * @typedef {object} FieldNode
 * @property {"Field"} kind
 * @property {NameNode | null} alias
 * @property {NameNode} name
 * @property {ArgumentNode[]} arguments
 * @property {DirectiveNode[]} directives
 * @property {SelectionSetNode | null} selectionSet
 * @property {number} start
 * @property {number} end
 */
/** @typedef {{ kind: "FragmentSpread", name: NameNode | null, directives: DirectiveNode[], start: number, end: number }} FragmentSpreadNode */
/**
 * @typedef {object} InlineFragmentNode
 * @property {"InlineFragment"} kind
 * @property {NamedTypeNode | null} typeCondition
 * @property {DirectiveNode[]} directives
 * @property {SelectionSetNode | null} selectionSet
 * @property {number} start
 * @property {number} end
 */
/** @typedef {FieldNode | FragmentSpreadNode | InlineFragmentNode} SelectionNode */
/** @typedef {{ kind: "SelectionSet", selections: SelectionNode[], start: number, end: number }} SelectionSetNode */

/** @typedef {{ value: string, isBlock: boolean, start: number, end: number }} DescriptionNode */
/**
 * @typedef {object} VariableDefinitionNode
 * @property {"VariableDefinition"} kind
 * @property {DescriptionNode | null} description
 * @property {VariableNode} variable
 * @property {TypeNode | null} type
 * @property {ValueNode | null} defaultValue
 * @property {DirectiveNode[]} directives
 * @property {number} start
 * @property {number} end
 */
/**
 * @typedef {object} OperationNode
 * @property {"OperationDefinition"} kind
 * @property {"query" | "mutation" | "subscription"} operation
 * @property {boolean} isShort  Whether it is a selection set alone.
 * @property {DescriptionNode | null} description
 * @property {NameNode | null} name
 * @property {VariableDefinitionNode[]} variableDefinitions
 * @property {DirectiveNode[]} directives
 * @property {SelectionSetNode | null} selectionSet
 * @property {number} start
 * @property {number} end
 */
/**
 * @typedef {object} FragmentNode
 * @property {"FragmentDefinition"} kind
 * @property {DescriptionNode | null} description
 * @property {NameNode | null} name
 * @property {NamedTypeNode | null} typeCondition
 * @property {DirectiveNode[]} directives
 * @property {SelectionSetNode | null} selectionSet
 * @property {number} start
 * @property {number} end
 */
/** @typedef {OperationNode | FragmentNode} DefinitionNode */
/** @typedef {DefinitionNode | SelectionNode | SelectionSetNode | VariableDefinitionNode | ArgumentNode | DirectiveNode | ListValueNode | ObjectValueNode | ObjectFieldNode} OpenNode */

/**
 * The kind of text that fits at the caret. `path` has the nodes around it, outermost first. `prefix` is the typed start of a name.
 * @typedef {object} CaretContext
 * @property {"definition" | "selection" | "spread" | "typeCondition" | "argument" | "value" | "objectField" | "variable" | "directive" | "inputType" | "variableDefinition" | "fragmentOn"} kind
 * @property {OpenNode[]} path
 * @property {number} start
 * @property {string} prefix
 */

export {};
