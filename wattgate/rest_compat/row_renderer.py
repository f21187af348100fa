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

from wattgate.clock import format_iso
from wattgate.db.wire_column import WireColumn
from wattgate.enums import to_camel_case
from wattgate.graphql.core.fields import edge_of
from wattgate.graphql.core.operation import Operation

RenderValue = Callable[[Any], Any]


def build_renderer(operation: Operation) -> RenderValue:
    """The function that turns what an operation gives into JSON values, by its declared type.

    Objects have the plain fields of their type, under GraphQL's names; edges are left out.
    """
    inner = _object_renderer(operation.result_type.__strawberry_definition__)
    return _list_renderer(inner) if operation.returns_list else inner


def render_field(field: StrawberryField, value: Any) -> Any:
    """The JSON value of one field, edge or plain."""
    return _renderer_for_type(field.type)(value)


def wire_name(field: StrawberryField) -> str:
    """A field's name on the wire."""
    return field.graphql_name or to_camel_case(field.python_name)


def _renderer_for_type(type_: Any) -> RenderValue:
    if isinstance(type_, StrawberryOptional):
        inner = _renderer_for_type(type_.of_type)
        return lambda value: None if value is None else inner(value)
    if isinstance(type_, StrawberryList):
        return _list_renderer(_renderer_for_type(type_.of_type))
    if isinstance(type_, StrawberryEnumDefinition):
        return lambda value: value.value
    definition = getattr(type_, "__strawberry_definition__", None)
    if isinstance(definition, StrawberryObjectDefinition):
        return _object_renderer(definition)
    return _LEAF_RENDERERS.get(type_, _render_leaf)


def _list_renderer(inner: RenderValue) -> RenderValue:
    return lambda values: values if isinstance(values, WireColumn) else [inner(value) for value in values]


@cache
def _object_renderer(definition: StrawberryObjectDefinition) -> RenderValue:
    members = [
        (wire_name(field), field.python_name, _renderer_for_type(field.type))
        for field in definition.fields
        if edge_of(field) is None
    ]
    return lambda row: {name: render(getattr(row, attribute)) for name, attribute, render in members}


def _render_leaf(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


_LEAF_RENDERERS: dict[Any, RenderValue] = {datetime: format_iso, Decimal: float}
