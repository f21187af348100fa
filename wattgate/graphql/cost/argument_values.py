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

from wattgate.graphql.cost.expressions import Coerced


class Known(NamedTuple):
    """A value that no variable changes; None stands for what is not given."""

    value: Any


Read = Callable[[Coerced], Any]
Given = Known | Read


def given(field: GraphQLField, node: FieldNode, name: str) -> Given:
    """The value of an argument, its default where it is left out."""
    argument = field.args.get(name)
    if argument is None:
        return Known(None)
    value = next((one.value for one in node.arguments or () if one.name.value == name), None)
    return _given(value, argument.type, _default(argument))


def reading(one: Given) -> Read:
    """What reads a value, known or not, from the values of variables."""
    if not isinstance(one, Known):
        return one
    value = one.value
    return lambda coerced: value


def _default(declared: Any) -> Any:
    default = coerce_default_value(declared)
    return None if default is Undefined else default


def _given(value: ValueNode | None, kind: GraphQLInputType, default: Any) -> Given:
    if value is None:
        return Known(default)
    if isinstance(value, VariableNode):
        name = value.name.value
        return lambda coerced: coerced.get(name, default)
    plain: Any = get_nullable_type(kind)
    if isinstance(value, NullValueNode):
        return Known(None)
    if is_list_type(plain):
        items = value.values if isinstance(value, ListValueNode) else (value,)
        return _list([_given(one, plain.of_type, None) for one in items])
    if isinstance(value, ObjectValueNode) and is_input_object_type(plain):
        return _object(value, plain)
    found = coerce_input_literal(value, plain)
    return Known(None if found is Undefined else found)


def _object(value: ObjectValueNode, kind: Any) -> Given:
    fields = {one.name.value: one.value for one in value.fields}
    members = {name: _given(fields.get(name), field.type, _default(field)) for name, field in kind.fields.items()}
    if all(isinstance(one, Known) for one in members.values()):
        return Known({name: one.value for name, one in members.items() if isinstance(one, Known)})
    reads = [(name, reading(one)) for name, one in members.items()]
    return lambda coerced: {name: read(coerced) for name, read in reads}


def _list(items: list[Given]) -> Given:
    if all(isinstance(one, Known) for one in items):
        return Known([one.value for one in items if isinstance(one, Known)])
    reads = [reading(one) for one in items]
    return lambda coerced: [read(coerced) for read in reads]
