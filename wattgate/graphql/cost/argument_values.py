"""Arguments as a document gives them: known beforehand, or read from its variables. Nothing is refused here."""

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
    """A value that no variable changes; None stands for what is not given."""

    value: Any


VariableReader = Callable[[CoercedVariables], Any]
ArgumentValue = ConstantValue | VariableReader


def argument_value(field: GraphQLField, node: FieldNode, name: str) -> ArgumentValue:
    """The value of an argument, its default where it is left out."""
    argument = field.args.get(name)
    if argument is None:
        return ConstantValue(None)
    value = next((one.value for one in node.arguments or () if one.name.value == name), None)
    return _literal_value(value, argument.type, _default_value(argument))


def to_reader(one: ArgumentValue) -> VariableReader:
    """What reads a value, known or not, from the values of variables."""
    if not isinstance(one, ConstantValue):
        return one
    value = one.value
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
    plain: Any = get_nullable_type(kind)
    if isinstance(value, NullValueNode):
        return ConstantValue(None)
    if is_list_type(plain):
        items = value.values if isinstance(value, ListValueNode) else (value,)
        return _list_value([_literal_value(one, plain.of_type, None) for one in items])
    if isinstance(value, ObjectValueNode) and is_input_object_type(plain):
        return _object_value(value, plain)
    found = coerce_input_literal(value, plain)
    return ConstantValue(None if found is Undefined else found)


def _object_value(value: ObjectValueNode, kind: Any) -> ArgumentValue:
    fields = {one.name.value: one.value for one in value.fields}
    members = {
        name: _literal_value(fields.get(name), field.type, _default_value(field)) for name, field in kind.fields.items()
    }
    if all(isinstance(one, ConstantValue) for one in members.values()):
        return ConstantValue({name: one.value for name, one in members.items() if isinstance(one, ConstantValue)})
    reads = [(name, to_reader(one)) for name, one in members.items()]
    return lambda coerced: {name: read(coerced) for name, read in reads}


def _list_value(items: list[ArgumentValue]) -> ArgumentValue:
    if all(isinstance(one, ConstantValue) for one in items):
        return ConstantValue([one.value for one in items if isinstance(one, ConstantValue)])
    reads = [to_reader(one) for one in items]
    return lambda coerced: [read(coerced) for read in reads]
