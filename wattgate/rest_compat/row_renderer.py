"""From rows to JSON values, by the same Strawberry types that GraphQL answers with."""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any

from strawberry.types.base import StrawberryList, StrawberryObjectDefinition, StrawberryOptional
from strawberry.types.enum import StrawberryEnumDefinition
from strawberry.types.field import StrawberryField

from wattgate.clock import iso
from wattgate.db.wire_column import Column
from wattgate.enums import camel
from wattgate.graphql.core.fields import edge_of
from wattgate.graphql.core.operation import Operation

Render = Callable[[Any], Any]


def renderer(operation: Operation) -> Render:
    """The function that turns what an operation gives into JSON values, by its declared type.

    Objects have the plain fields of their type, under GraphQL's names; edges are left out.
    """
    inner = _object(operation.shape.__strawberry_definition__)
    return _list(inner) if operation.many else inner


def render_field(field: StrawberryField, value: Any) -> Any:
    """The JSON value of one field, edge or plain."""
    return _of_type(field.type)(value)


def name_of(field: StrawberryField) -> str:
    """A field's name on the wire."""
    return field.graphql_name or camel(field.python_name)


def _of_type(type_: Any) -> Render:
    if isinstance(type_, StrawberryOptional):
        inner = _of_type(type_.of_type)
        return lambda value: None if value is None else inner(value)
    if isinstance(type_, StrawberryList):
        return _list(_of_type(type_.of_type))
    if isinstance(type_, StrawberryEnumDefinition):
        return lambda value: value.value
    definition = getattr(type_, "__strawberry_definition__", None)
    if isinstance(definition, StrawberryObjectDefinition):
        return _object(definition)
    return _LEAVES.get(type_, _same)


def _list(inner: Render) -> Render:
    return lambda values: values if isinstance(values, Column) else [inner(value) for value in values]


@cache
def _object(definition: StrawberryObjectDefinition) -> Render:
    members = [
        (name_of(field), field.python_name, _of_type(field.type))
        for field in definition.fields
        if edge_of(field) is None
    ]
    return lambda row: {name: render(getattr(row, attribute)) for name, attribute, render in members}


def _same(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


_LEAVES: dict[Any, Render] = {datetime: iso, Decimal: float}
