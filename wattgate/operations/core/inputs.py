"""Conversion of input objects to records."""

import inspect
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import msgspec
import strawberry
from sqlalchemy import JSON

from wattgate.db.column_types import StructColumn
from wattgate.db.models import Tenanted
from wattgate.db.rows.lookups import model_columns
from wattgate.enums import to_camel_case
from wattgate.errors import BadInput, Problem
from wattgate.operations.core.operation import Call

M = TypeVar("M", bound=Tenanted)


def to_column_values(input: Any, model: type[Tenanted], *, exclude: Collection[str] = ()) -> dict[str, Any]:
    """Return the column values that an input object sets, as the model stores them. Omitted members are left out.

    Raise BadInput if null is sent for a column that must have a value.
    """
    columns = model_columns(model)
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for name in inspect.get_annotations(type(input)):
        value = getattr(input, name)
        if value is strawberry.UNSET or name in exclude:
            continue
        column_type = columns[name].type
        if value is None and not columns[name].nullable and not _accepts_json_null(model, name):
            problems.append(Problem(("input", to_camel_case(name)), "must not be null"))
        elif value is not None and isinstance(column_type, StructColumn):
            value = msgspec.convert(value, column_type.value_type, from_attributes=True)
        values[name] = value
    if problems:
        raise BadInput("a required value is null", problems=problems)
    return values


async def check_references(call: Call, model: type[Tenanted], values: Mapping[str, Any]) -> None:
    """Raise BadInput if an id refers to a record that does not exist or that the caller may not see."""
    problems = []
    for name, value in values.items():
        referenced_model = _referenced_model(model, name)
        if (
            referenced_model is not None
            and value is not None
            and not await call.rows.get_many(referenced_model, [value])
        ):
            problems.append(Problem(("input", to_camel_case(name)), f"{value} does not exist"))
    if problems:
        raise BadInput("the record refers to records that do not exist", problems=problems)


def _referenced_model(model: type[Tenanted], name: str) -> type[Tenanted] | None:
    """Return the model that a column refers to by its key, or None."""
    for key in model_columns(model)[name].foreign_keys:
        for kind in Tenanted.__subclasses__():
            if key.column is model_columns(kind)[kind.key]:
                return kind
    return None


def apply_input(record: M, input: Any, *, exclude: Collection[str] = ()) -> M:
    """Set the values of an input object on a record, except for the members to exclude."""
    for name, value in to_column_values(input, type(record), exclude=exclude).items():
        setattr(record, name, value)
    return record


def _accepts_json_null(model: type[Tenanted], name: str) -> bool:
    """Return whether a column holds any JSON value, so that null is one. A list or an object is never null."""
    return isinstance(model_columns(model)[name].type, JSON) and model.model_fields[name].annotation is Any
