"""Argument values of a document for cost estimation: constants, or read from the variables.

Nothing is validated here.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from graphql import (
    FieldNode,
    GraphQLField,
    GraphQLInputType,
    ListValueNode,
    NullValueNode,
    ObjectValueNode,
    Undefined,
    ValueNode,
    VariableNode,
    get_nullable_type,
    is_input_object_type,
    is_list_type,
)
from graphql.utilities.coerce_input_value import coerce_default_value, coerce_input_literal

from wattgate.graphql.cost.expressions import CoercedVariables


class ConstantValue(NamedTuple):
    """A value that does not depend on variables. None stands for an omitted value without default."""

    value: Any


VariableReader = Callable[[CoercedVariables], Any]
ArgumentValue = ConstantValue | VariableReader


def argument_value(field: GraphQLField, node: FieldNode, name: str) -> ArgumentValue:
    """Return the value of an argument, or its default if it is omitted."""
    argument = field.args.get(name)
    if argument is None:
        return ConstantValue(None)
    value = next(
        (argument_node.value for argument_node in node.arguments or () if argument_node.name.value == name), None
    )
    return _literal_value(value, argument.type, _default_value(argument))


def to_reader(argument: ArgumentValue) -> VariableReader:
    """Return a function that reads the value of an argument from the variables."""
    if not isinstance(argument, ConstantValue):
        return argument
    value = argument.value
    return lambda coerced: value


def _default_value(declared: Any) -> Any:
    default = coerce_default_value(declared)
    return None if default is Undefined else default


def _literal_value(value: ValueNode | None, kind: GraphQLInputType, default: Any) -> ArgumentValue:
    if value is None:
        return ConstantValue(default)
    if isinstance(value, VariableNode):
        name = value.name.value
        return lambda coerced: coerced.get(name, default)
    nullable_type: Any = get_nullable_type(kind)
    if isinstance(value, NullValueNode):
        return ConstantValue(None)
    if is_list_type(nullable_type):
        items = value.values if isinstance(value, ListValueNode) else (value,)
        return _list_value([_literal_value(item, nullable_type.of_type, None) for item in items])
    if isinstance(value, ObjectValueNode) and is_input_object_type(nullable_type):
        return _object_value(value, nullable_type)
    coerced_value = coerce_input_literal(value, nullable_type)
    return ConstantValue(None if coerced_value is Undefined else coerced_value)


def _object_value(value: ObjectValueNode, kind: Any) -> ArgumentValue:
    fields = {object_field.name.value: object_field.value for object_field in value.fields}
    members = {
        name: _literal_value(fields.get(name), field.type, _default_value(field)) for name, field in kind.fields.items()
    }
    if all(isinstance(member, ConstantValue) for member in members.values()):
        return ConstantValue(
            {name: member.value for name, member in members.items() if isinstance(member, ConstantValue)}
        )
    readers = [(name, to_reader(member)) for name, member in members.items()]
    return lambda coerced: {name: read(coerced) for name, read in readers}


def _list_value(items: list[ArgumentValue]) -> ArgumentValue:
    if all(isinstance(item, ConstantValue) for item in items):
        return ConstantValue([item.value for item in items if isinstance(item, ConstantValue)])
    readers = [to_reader(item) for item in items]
    return lambda coerced: [read(coerced) for read in readers]
