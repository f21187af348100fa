"""The form of the rules on personal data: the rows of a user, and their treatment by an erasure."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnElement, false, func, literal, or_, select, tuple_
from sqlmodel import SQLModel

from wattgate.db.models import Resource, Tenanted
from wattgate.db.rows.lookups import model_columns, model_table
from wattgate.db.rows.rows import Rows
from wattgate.enums import ErasureAction


@dataclass(frozen=True, slots=True)
class OfUser:
    """The rows whose column is the id of the user."""

    column: str


@dataclass(frozen=True, slots=True)
class OfRecords:
    """The rows whose column refers to selected rows of a parent model, by one of its columns.

    With `created_before`, only the rows that are older than the row of the parent.
    """

    column: str
    parent: type[Tenanted]
    parent_column: str
    of: "Selection"
    created_before: bool = False


@dataclass(frozen=True, slots=True)
class OfResources:
    """The rows of resources of the user: those that are billed, which have a meter point, or the others."""

    billed: bool


@dataclass(frozen=True, slots=True)
class OfAddresses:
    """The rows whose column is an e-mail address of the user. Only the start of an erasure knows the addresses."""

    column: str


Selection = OfUser | OfRecords | OfResources | OfAddresses

Replacement = Callable[[Any, datetime], Any]
"""Return the new value of a column, as a value or an expression, from the columns of the table and the present time."""


@dataclass(frozen=True, slots=True)
class TableRule:
    """The treatment of the rows of a user in a table by an erasure.

    `columns` declares each column of rows that stay: a text of names, by the reason for which they stay. Columns in
    `replaced` get a new value. Rows with `billing` are erased when the records for billing are, and `billing_replaced`
    has further columns that get a new value then. `exported` describes the file of the rows in an export.
    """

    model: type[SQLModel]
    action: ErasureAction
    reason: str
    selections: tuple[Selection, ...] = ()
    replaced: Mapping[str, Replacement] = field(default_factory=lambda: MappingProxyType({}))
    columns: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    billing: bool = False
    billing_replaced: Mapping[str, Replacement] = field(default_factory=lambda: MappingProxyType({}))
    exported: str = ""

    @property
    def table(self) -> str:
        """The name of the table."""
        return str(self.model.__tablename__)

    @property
    def declared_columns(self) -> set[str]:
        """The columns that the rule names."""
        return {*self.replaced, *(name for names in self.columns.values() for name in names.split())}


def erased(
    model: type[SQLModel], exported: str, *selections: Selection, reason: str = "It is personal data."
) -> TableRule:
    """Return the rule of a table whose rows of the user are deleted. `exported` is empty if they are not exported."""
    return TableRule(model, ErasureAction.ERASED, reason, _or_owned(model, selections), exported=exported)


def replaced(
    model: type[SQLModel], exported: str, reason: str, values: Mapping[str, Replacement], columns: Mapping[str, str]
) -> TableRule:
    """Return the rule of a table whose rows of the user stay without personal values."""
    return TableRule(
        model,
        ErasureAction.REPLACED,
        reason,
        _or_owned(model, ()),
        MappingProxyType(dict(values)),
        MappingProxyType(dict(columns)),
        exported=exported,
    )


def kept(model: type[SQLModel], reason: str, columns: str) -> TableRule:
    """Return the rule of a table that an erasure does not touch."""
    return TableRule(model, ErasureAction.KEPT, reason, columns=MappingProxyType({reason: columns}))


def constant(value: Any) -> Replacement:
    """Return a replacement by a value that is the same for all rows."""
    return lambda columns, now: value


def each(value: Any, names: str) -> Iterator[tuple[str, Replacement]]:
    """Yield the same replacement for several columns."""
    for name in names.split():
        yield name, constant(value)


def _or_owned(model: type[SQLModel], selections: tuple[Selection, ...]) -> tuple[Selection, ...]:
    owner = getattr(model, "owner", None)
    return selections or ((OfUser(owner),) if owner else ())


# The rows of a user by the rules of `tables`: conditions, pages of rows, and batches of an erasure.


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
