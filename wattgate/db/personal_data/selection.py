"""The rows of a user by the rules of `tables`: conditions, pages of rows, and batches of an erasure."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, false, func, literal, or_, select, tuple_

from wattgate.db.models import Resource, Tenanted
from wattgate.db.personal_data.rules import (
    OfAddresses,
    OfRecords,
    OfResources,
    OfUser,
    Replacement,
    Selection,
)
from wattgate.db.rows.lookups import model_columns, model_table
from wattgate.db.rows.rows import Rows


def condition(
    rows: Rows, model: type[Tenanted], selection: Selection, user_id: str, addresses: Collection[str] = ()
) -> ColumnElement[bool]:
    """Return the condition for the rows of a user. Rows of addresses are only found with `addresses`, in lower case."""
    columns = model_columns(model)
    match selection:
        case OfUser(column):
            found: ColumnElement[bool] = columns[column] == user_id
        case OfAddresses(column):
            found = func.lower(columns[column]).in_(addresses) if addresses else false()
        case OfRecords(column, parent, parent_column, of, created_before):
            in_parent = [model_columns(parent)["application_id"] == rows.application_id]
            in_parent.append(condition(rows, parent, of, user_id))
            if created_before:
                in_parent.append(columns["created_at"] <= model_columns(parent)["created_at"])
            found = columns[column].in_(select(model_columns(parent)[parent_column]).where(*in_parent))
        case OfResources(billed):
            resource = model_columns(Resource)
            owned = [resource["application_id"] == rows.application_id, resource["owner_id"] == user_id]
            owned.append(resource["mpxn"].is_not(None) if billed else resource["mpxn"].is_(None))
            found = columns["resource_id"].in_(select(resource["resource_id"]).where(*owned))
    return found


async def erase_rows(rows: Rows, model: type[Tenanted], where: ColumnElement[bool], limit: int) -> int:
    """Delete up to `limit` rows. Return their number."""
    return await rows.delete(model, _among(rows, model, where, limit))


async def replace_values(
    rows: Rows, model: type[Tenanted], where: ColumnElement[bool], values: Mapping[str, Replacement], limit: int
) -> int:
    """Replace the values of up to `limit` rows that have other values. Return their number."""
    columns = model_columns(model)
    # typed, because a column of JSON stores None as the JSON null, which is not NULL
    new_values = {
        name: _typed(replacement(columns, rows.now), columns[name].type) for name, replacement in values.items()
    }
    if not new_values:
        return 0
    differs = or_(*(columns[name].is_distinct_from(value) for name, value in new_values.items()))
    return await rows.update(model, _among(rows, model, where & differs, limit), **new_values)


async def read_page(
    rows: Rows, model: type[Tenanted], where: ColumnElement[bool], after: Sequence[Any] | None, limit: int
) -> list[Any]:
    """Return up to `limit` rows after the row with the primary key `after`, in the order of the primary key."""
    key = _primary_key(model)
    later = [] if after is None else [tuple_(*key) > tuple_(*after)]
    return await rows.all(model, where, *later, order_by=key, limit=limit)


def primary_key_of(model: type[Tenanted], row: Any) -> tuple[Any, ...]:
    """Return the primary key of a row."""
    return tuple(getattr(row, column.name) for column in _primary_key(model))


def _typed(value: Any, type_: Any) -> Any:
    return value if isinstance(value, ColumnElement) else literal(value, type_)


def _among(rows: Rows, model: type[Tenanted], where: ColumnElement[bool], limit: int) -> ColumnElement[bool]:
    """Return the condition for the first `limit` rows that meet another one."""
    key = _primary_key(model)
    scope = model_columns(model)["application_id"] == rows.application_id
    first = select(*key).where(scope, where).limit(limit)
    return key[0].in_(first) if len(key) == 1 else tuple_(*key).in_(first)


def _primary_key(model: type[Tenanted]) -> list[Any]:
    return list(model_table(model).primary_key.columns)
