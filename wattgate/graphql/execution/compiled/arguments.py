"""The arguments of a field: values that are known beforehand, or a function of the variables."""

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
from graphql.execution.values import VariableValues, get_argument_values
from strawberry.schema.config import StrawberryConfig
from strawberry.types.arguments import StrawberryArgument, convert_arguments

from wattgate.graphql.core.field_source import DEFINITION

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
        parts = [self._part(field, node, declared) for declared in field.extensions[DEFINITION].arguments]
        if not any(map(callable, parts)):
            return _together(parts, NO_VARIABLES)
        return lambda variables: _together(parts, variables)

    def _part(self, field: GraphQLField, node: FieldNode, declared: StrawberryArgument) -> Arguments | Bind:
        """The same of one argument; nothing where it is left out."""
        name = self._config.name_converter.from_argument(declared)
        given = [one for one in node.arguments or () if one.name.value == name]
        value = given[0].value if given else None
        if isinstance(value, VariableNode) and self._is_told_as_it_is(field.args[name], value):
            python_name, source = str(declared.python_name), value.name.value
            return lambda variables: {python_name: variables.coerced[source]}
        alone = GraphQLField(field.type, {name: field.args[name]}), FieldNode(name=node.name, arguments=tuple(given))

        def bound(variables: VariableValues) -> dict[str, Any]:
            return convert_arguments(get_argument_values(*alone, variables), [declared], self._scalars, self._config)

        if value is None or not names_variable(value):
            known = bound(NO_VARIABLES)
            if all(isinstance(one, FOR_GOOD) for one in known.values()):
                return known
        return bound

    def _is_told_as_it_is(self, argument: GraphQLArgument, value: VariableNode) -> bool:
        """Whether the value of a variable leaves nothing to coerce or convert for an argument."""
        certain = value.name.value in self._certain
        return certain and isinstance(get_nullable_type(argument.type), GraphQLScalarType)


def _together(parts: Sequence[Arguments | Bind], variables: VariableValues) -> Arguments:
    found = dict[str, Any]()
    for part in parts:
        found.update(part(variables) if callable(part) else part)
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
