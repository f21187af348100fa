"""Render rows as JSON values, by the Strawberry types that GraphQL responses use."""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any

from strawberry.types import get_object_definition

from wattgate.clock import format_iso
from wattgate.db.column_types import SerializedColumn
from wattgate.operations.core.fields import is_in_rest, rest_form_of
from wattgate.operations.core.operation import Operation
from wattgate.operations.vocabulary.strawberry_adapter import (
    StrawberryEnumDefinition,
    StrawberryField,
    StrawberryList,
    StrawberryObjectDefinition,
    StrawberryOptional,
    rest_name_of,
)

RenderValue = Callable[[Any], Any]


def build_renderer(operation: Operation) -> RenderValue:
    """Return the function that renders the result of an operation as JSON values.

    Objects have the plain fields of the declared result type, under their names in REST. Edges are omitted. A field
    with a form for REST has that form.
    """
    inner = _object_renderer(get_object_definition(operation.rest_result_type, strict=True))
    return _list_renderer(inner) if operation.rest_returns_list else inner


def render_field(field: StrawberryField, value: Any) -> Any:
    """Return the JSON value of a field, which may be an edge."""
    return _renderer_for_type(field.type)(value)


def rest_name(field: StrawberryField) -> str:
    """Return the name of a field in JSON of the REST interface."""
    form = rest_form_of(field)
    return (form and form.name) or rest_name_of(field)


def _renderer_for_type(type_: Any) -> RenderValue:
    if isinstance(type_, StrawberryOptional):
        inner = _renderer_for_type(type_.of_type)
        return lambda value: None if value is None else inner(value)
    if isinstance(type_, StrawberryList):
        return _list_renderer(_renderer_for_type(type_.of_type))
    if isinstance(type_, StrawberryEnumDefinition):
        return lambda value: value.value
    definition = get_object_definition(type_)
    if definition is not None:
        return _object_renderer(definition)
    return _LEAF_RENDERERS.get(type_, _render_leaf)


def _list_renderer(inner: RenderValue) -> RenderValue:
    return lambda values: values if isinstance(values, SerializedColumn) else [inner(value) for value in values]


@cache
def _object_renderer(definition: StrawberryObjectDefinition) -> RenderValue:
    members = [(rest_name(field), *_attribute_and_renderer(field)) for field in definition.fields if is_in_rest(field)]
    return lambda row: {name: render(getattr(row, attribute)) for name, attribute, render in members}


def _attribute_and_renderer(field: StrawberryField) -> tuple[str, RenderValue]:
    form = rest_form_of(field)
    if form is None:
        return field.python_name, _renderer_for_type(field.type)
    return form.attribute, _renderer_for_type(form.type)


def _render_leaf(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


_LEAF_RENDERERS: dict[Any, RenderValue] = {datetime: format_iso, Decimal: float}
