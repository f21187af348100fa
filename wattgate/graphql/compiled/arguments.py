"""The arguments of a field: values that are known beforehand, or a function of the variables."""

from collections.abc import Callable, Mapping
from datetime import date, datetime, tzinfo
from decimal import Decimal
from enum import Enum
from types import MappingProxyType, NoneType
from typing import Any
from uuid import UUID

from graphql import (
    FieldNode,
    GraphQLField,
    GraphQLScalarType,
    ListValueNode,
    NonNullTypeNode,
    ObjectValueNode,
    OperationDefinitionNode,
    Undefined,
    ValueNode,
    VariableNode,
    get_nullable_type,
)
from graphql.execution.values import VariableValues, get_argument_values
from strawberry.schema.config import StrawberryConfig
from strawberry.types.arguments import convert_arguments

from wattgate.graphql.compiled.reach import DEFINITION

Arguments = Mapping[str, Any]
Bind = Callable[[VariableValues], Arguments]

NOTHING: Arguments = MappingProxyType({})
NO_VARIABLES = VariableValues({}, {})

FOR_GOOD = (str, int, float, bool, NoneType, Enum, date, datetime, Decimal, UUID, tzinfo)
"""Values that nobody can change, so that every execution may have the same ones."""


class Binder:
    """Binds arguments of one operation's fields as graphql-core coerces and Strawberry converts them."""

    def __init__(
        self, scalars: Mapping[Any, Any], config: StrawberryConfig, operation: OperationDefinitionNode
    ) -> None:
        self._scalars = scalars
        self._config = config
        self._certain = {
            one.variable.name.value
            for one in operation.variable_definitions or ()
            if isinstance(one.type, NonNullTypeNode)
        }

    def bind(self, field: GraphQLField, node: FieldNode) -> Arguments | Bind:
        """What a field's function is called with; where it depends on variables, how that is made of them."""
        if not field.args:
            return NOTHING
        if not any(names_variable(one.value) for one in node.arguments or ()):
            known = self._bound(field, node, NO_VARIABLES)
            if all(isinstance(value, FOR_GOOD) for value in known.values()):
                return known
        straight = self._straight(field, node)
        if straight is not None:
            return lambda variables: {name: variables.coerced[source] for name, source in straight}
        return lambda variables: self._bound(field, node, variables)

    def _bound(self, field: GraphQLField, node: FieldNode, variables: VariableValues) -> dict[str, Any]:
        declared = field.extensions[DEFINITION].arguments
        return convert_arguments(get_argument_values(field, node, variables), declared, self._scalars, self._config)

    def _straight(self, field: GraphQLField, node: FieldNode) -> list[tuple[str, str]] | None:
        """Names of arguments with those of the variables that they are, where nothing is left to coerce or convert."""
        given = {one.name.value: one.value for one in node.arguments or ()}
        found = []
        for declared in field.extensions[DEFINITION].arguments:
            name = self._config.name_converter.from_argument(declared)
            argument, value = field.args[name], given.get(name)
            if value is None and argument.default is None and argument.default_value is Undefined:
                continue
            if not isinstance(value, VariableNode) or value.name.value not in self._certain:
                return None
            if not isinstance(get_nullable_type(argument.type), GraphQLScalarType):
                return None
            found.append((str(declared.python_name), value.name.value))
        return found


def names_variable(value: ValueNode) -> bool:
    """Whether a variable stands anywhere in a value."""
    if isinstance(value, VariableNode):
        return True
    if isinstance(value, ListValueNode):
        return any(names_variable(one) for one in value.values)
    if isinstance(value, ObjectValueNode):
        return any(names_variable(one.value) for one in value.fields)
    return False
