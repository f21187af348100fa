"""The arguments of a field: constant values, or a function of the variables."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, tzinfo
from decimal import Decimal
from enum import Enum
from types import MappingProxyType, NoneType
from typing import Any
from uuid import UUID

from graphql import (
    FieldNode,
    GraphQLArgument,
    GraphQLField,
    GraphQLScalarType,
    ListValueNode,
    NonNullTypeNode,
    ObjectValueNode,
    OperationDefinitionNode,
    ValueNode,
    VariableNode,
    get_nullable_type,
)
from graphql.execution import VariableValues, get_argument_values

from wattgate.graphql.execution.schema import Schema
from wattgate.operations.vocabulary.directives import STRAWBERRY_DEFINITION
from wattgate.operations.vocabulary.strawberry_adapter import StrawberryArgument

Arguments = Mapping[str, Any]
BindArguments = Callable[[VariableValues], Arguments]

NO_ARGUMENTS: Arguments = MappingProxyType({})
NO_VARIABLES = VariableValues({}, {})

IMMUTABLE_TYPES = (str, int, float, bool, NoneType, Enum, date, datetime, Decimal, UUID, tzinfo)
"""Types of immutable values, which all executions may share."""


class FieldArgumentBinder:
    """Bind the arguments of one operation's fields: coerced as by graphql-core and converted as by Strawberry."""

    def __init__(self, schema: Schema, operation: OperationDefinitionNode) -> None:
        self._schema = schema
        self._non_null_variables = {
            definition.variable.name.value
            for definition in operation.variable_definitions or ()
            if isinstance(definition.type, NonNullTypeNode)
        }

    def bind(self, field: GraphQLField, node: FieldNode) -> Arguments | BindArguments:
        """Return the keyword arguments of a field, or a function that computes them from the variables."""
        if not field.args:
            return NO_ARGUMENTS
        parts = [
            self._bind_argument(field, node, declared) for declared in field.extensions[STRAWBERRY_DEFINITION].arguments
        ]
        if not any(map(callable, parts)):
            return _merge_arguments(parts, NO_VARIABLES)
        return lambda variables: _merge_arguments(parts, variables)

    def _bind_argument(
        self, field: GraphQLField, node: FieldNode, declared: StrawberryArgument
    ) -> Arguments | BindArguments:
        """Return the value of one argument as keyword arguments, or a function of the variables.

        Empty if it is omitted.
        """
        name = self._schema.config.name_converter.from_argument(declared)
        argument_nodes = [argument for argument in node.arguments or () if argument.name.value == name]
        value = argument_nodes[0].value if argument_nodes else None
        if isinstance(value, VariableNode) and self._needs_no_coercion(field.args[name], value):
            python_name, variable_name = str(declared.python_name), value.name.value
            return lambda variables: {python_name: variables.coerced[variable_name]}
        single_argument = (
            GraphQLField(field.type, {name: field.args[name]}),
            FieldNode(name=node.name, arguments=tuple(argument_nodes)),
        )

        def bind(variables: VariableValues) -> dict[str, Any]:
            return self._schema.convert_arguments(get_argument_values(*single_argument, variables), [declared])

        if value is None or not contains_variable(value):
            constants = bind(NO_VARIABLES)
            if all(isinstance(constant, IMMUTABLE_TYPES) for constant in constants.values()):
                return constants
        return bind

    def _needs_no_coercion(self, argument: GraphQLArgument, value: VariableNode) -> bool:
        """Return whether a variable's value can be passed to an argument without coercion or conversion."""
        never_null = value.name.value in self._non_null_variables
        return never_null and isinstance(get_nullable_type(argument.type), GraphQLScalarType)


def _merge_arguments(parts: Sequence[Arguments | BindArguments], variables: VariableValues) -> Arguments:
    merged = dict[str, Any]()
    for part in parts:
        merged.update(part(variables) if callable(part) else part)
    return merged


def contains_variable(value: ValueNode) -> bool:
    """Return whether a value is or contains a variable."""
    if isinstance(value, VariableNode):
        return True
    if isinstance(value, ListValueNode):
        return any(contains_variable(item) for item in value.values)
    if isinstance(value, ObjectValueNode):
        return any(contains_variable(field.value) for field in value.fields)
    return False
