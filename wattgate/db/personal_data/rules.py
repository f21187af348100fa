"""The form of the rules on personal data: the rows of a user, and their treatment by an erasure."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from sqlmodel import SQLModel

from wattgate.db.models import Tenanted
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
