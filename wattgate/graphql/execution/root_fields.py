"""The root fields of a document, and the answer to a caller that may run none of them.

The answer needs neither the variables nor their types, so that such a request costs little work however large it is.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from graphql import (
    BooleanValueNode,
    DirectiveNode,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    StringValueNode,
    ValueNode,
    VariableNode,
)

from wattgate.errors import GatewayError
from wattgate.operations.core.fields import operation_of
from wattgate.operations.core.operation import Operation
from wattgate.operations.core.row_reader import check_permission
from wattgate.operations.vocabulary.directives import STRAWBERRY_DEFINITION
from wattgate.principal import Principal
from wattgate.values.graphql_names import graphql_name

Directives = tuple[DirectiveNode, ...]


class RootField(NamedTuple):
    """A root field by its response key.

    `operation` is None for introspection, which needs no permission. Each occurrence has the directives of its field
    and of the fragments around it.
    """

    key: str
    operation: Operation | None
    nodes: tuple[FieldNode, ...]
    occurrences: tuple[Directives, ...]


def collect_root_fields(
    schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode
) -> tuple[RootField, ...]:
    """Return the root fields of an operation of a valid document, in order."""
    root = schema.get_root_type(operation.operation)
    fragments = {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}
    nodes: dict[str, list[FieldNode]] = {}
    occurrences: dict[str, list[Directives]] = {}
    spread: set[str] = set()

    def collect(selections: SelectionSetNode, around: Directives) -> None:
        for selection in selections.selections:
            directives = (*around, *(selection.directives or ()))
            if isinstance(selection, FieldNode):
                key = (selection.alias or selection.name).value
                nodes.setdefault(key, []).append(selection)
                occurrences.setdefault(key, []).append(directives)
            elif isinstance(selection, InlineFragmentNode):
                collect(selection.selection_set, directives)
            elif isinstance(selection, FragmentSpreadNode) and (directives or selection.name.value not in spread):
                if not directives:  # with directives, `document_limits` bounds how often a fragment is expanded
                    spread.add(selection.name.value)
                collect(fragments[selection.name.value].selection_set, directives)

    collect(operation.selection_set, ())
    found = []
    for key, field_nodes in nodes.items():
        field = root.fields.get(field_nodes[0].name.value) if root else None
        definition = field.extensions.get(STRAWBERRY_DEFINITION) if field else None
        found.append(
            RootField(
                key,
                operation_of(definition) if definition else None,
                tuple(field_nodes),
                tuple(occurrences[key]),
            )
        )
    return tuple(found)


def collect_naming_values(fields: Iterable[RootField]) -> tuple[ValueNode | None, ...]:
    """Return the values with which root fields name an application; None for a field that names none.

    Only fields that callers without credentials may run have such a value.
    """
    values = []
    for field in fields:
        if field.operation is not None and (name := field.operation.naming_argument) is not None:
            arguments = {argument.name.value: argument.value for argument in field.nodes[0].arguments or ()}
            values.append(arguments.get(graphql_name(name)))
    return tuple(values)


def named_application(values: Iterable[ValueNode | None], variables: Mapping[str, Any], own: str | None) -> str | None:
    """Return the application that all of these values name; None if they name several, or none.

    `own` is the application that the caller names in a header, for fields that name none.
    """
    names = {_text_of(value, variables) or own for value in values} - {None}
    return names.pop() if len(names) == 1 else None


def _text_of(value: ValueNode | None, variables: Mapping[str, Any]) -> str | None:
    """Return an ID in a document; None if there is none."""
    if isinstance(value, VariableNode):
        text = variables.get(value.name.value)
        return text if isinstance(text, str) else None
    return value.value if isinstance(value, StringValueNode | IntValueNode) else None


class Refusal(NamedTuple):
    """The answer to a request of which no root field is permitted."""

    data: dict[str, Any]
    errors: list[GraphQLError]


def refuse_unpermitted(
    principal: Principal,
    fields: tuple[RootField, ...],
    operation: OperationDefinitionNode,
    raw_variables: Mapping[str, Any] | None,
) -> Refusal | None:
    """Return the answer if the caller may run none of the root fields, or None if it may run one of them.

    The answer is that of an execution in which each root field fails.
    """
    for field in fields:
        asked = field.operation
        if asked is None or principal.access_scope(asked.needs, is_read=asked.is_read) is not None:
            return None
    refused = [(field, _permission_error(principal, field.operation)) for field in fields if field.operation]
    if not refused:
        return None
    conditions = _condition_values(operation, raw_variables or {})
    data: dict[str, Any] = {}
    errors = []
    for field, error in refused:
        included = [
            node
            for node, directives in zip(field.nodes, field.occurrences, strict=True)
            if _is_included(directives, conditions)
        ]
        if included:
            errors.append(GraphQLError(error.message, included, path=[field.key], original_error=error))
            data[field.key] = None
    return Refusal(data, errors)


def require_permission(principal: Principal, fields: tuple[RootField, ...]) -> None:
    """Raise the error of the first root field that the caller may not run."""
    for field in fields:
        if field.operation is not None:
            check_permission(principal, field.operation.needs, is_read=field.operation.is_read)


def _permission_error(principal: Principal, operation: Operation) -> GatewayError:
    """Return the error of an operation that the caller may not run."""
    try:
        check_permission(principal, operation.needs, is_read=operation.is_read)
    except GatewayError as error:
        return error
    raise RuntimeError(f"{operation.name} is permitted")


def _condition_values(operation: OperationDefinitionNode, raw_variables: Mapping[str, Any]) -> dict[str, bool]:
    """Return the values of Boolean variables, without coercion. Other values count as false."""
    values = {}
    for definition in operation.variable_definitions or ():
        name, default = definition.variable.name.value, definition.default_value
        value = default.value if isinstance(default, BooleanValueNode) else False
        values[name] = raw_variables.get(name, value) is True
    return values


def _is_included(directives: Directives, conditions: Mapping[str, bool]) -> bool:
    for directive in directives:
        name = directive.name.value
        if name not in ("skip", "include") or not directive.arguments:
            continue
        condition = directive.arguments[0].value
        value = (
            conditions.get(condition.name.value, False)
            if isinstance(condition, VariableNode)
            else isinstance(condition, BooleanValueNode) and condition.value
        )
        if value is (name == "skip"):
            return False
    return True
