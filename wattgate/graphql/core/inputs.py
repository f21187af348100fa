"""From input objects to records."""

import inspect
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import msgspec
import strawberry
from sqlalchemy import JSON

from wattgate.db.column_types import Structs
from wattgate.db.models import Tenanted
from wattgate.db.rows import columns_of
from wattgate.enums import camel
from wattgate.errors import BadInput, Problem
from wattgate.graphql.core.operation import Call

M = TypeVar("M", bound=Tenanted)


def values_of(input: Any, model: type[Tenanted], *, leave_out: Collection[str] = ()) -> dict[str, Any]:
    """The columns that an input object gives, as the model holds them. What was left out is left out.

    BadInput where null is given for a column that must have a value.
    """
    columns = columns_of(model)
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for name in inspect.get_annotations(type(input)):
        value = getattr(input, name)
        if value is strawberry.UNSET or name in leave_out:
            continue
        column_type = columns[name].type
        if value is None and not columns[name].nullable and not _holds_null(column_type):
            problems.append(Problem(("input", camel(name)), "must not be null"))
        if isinstance(column_type, Structs):
            value = msgspec.convert(value, column_type.holds, from_attributes=True)
        values[name] = value
    if problems:
        raise BadInput("a value that must be there is null", problems=problems)
    return values


async def check_references(call: Call, model: type[Tenanted], values: Mapping[str, Any]) -> None:
    """BadInput for each given id that names no record which the caller may see."""
    problems = []
    for name, value in values.items():
        referred = _referred(model, name)
        if referred is not None and value is not None and not await call.rows.many(referred, [value]):
            problems.append(Problem(("input", camel(name)), f"{value} does not exist"))
    if problems:
        raise BadInput("the record refers to what does not exist", problems=problems)


def _referred(model: type[Tenanted], name: str) -> type[Tenanted] | None:
    """The kind of record that a column refers to by its key."""
    for key in columns_of(model)[name].foreign_keys:
        for kind in Tenanted.__subclasses__():
            if key.column is columns_of(kind)[kind.key]:
                return kind
    return None


def change(record: M, input: Any) -> M:
    """Put what an input object gives onto a record."""
    for name, value in values_of(input, type(record)).items():
        setattr(record, name, value)
    return record


def _holds_null(column_type: Any) -> bool:
    return isinstance(column_type, JSON)
