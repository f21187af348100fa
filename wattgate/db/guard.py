"""The net under tenancy: a statement on records of applications that names no application raises."""

from typing import cast

from sqlalchemy import Table
from sqlalchemy.orm import ORMExecuteState
from sqlalchemy.sql import visitors
from sqlmodel import SQLModel

from wattgate.db.models import Tenanted

SCOPED = {"scoped": True}
"""The execution option of statements that `Rows` has narrowed to an application, or `Identity` may run without."""

TENANTED = frozenset(
    cast(Table, model.__table__)
    for model in (mapper.class_ for mapper in SQLModel._sa_registry.mappers)
    if issubclass(model, Tenanted)
)


class UnscopedStatement(RuntimeError):
    """A defect of ours: records of applications were reached for without going through `Rows`."""


def refuse_unscoped(state: ORMExecuteState) -> None:
    """Raise on SELECT, UPDATE or DELETE of a tenanted table unless the statement is marked as scoped."""
    if state.execution_options.get("scoped") or state.is_insert:
        return
    touched = {node for node in visitors.iterate(state.statement) if isinstance(node, Table)} & TENANTED
    if touched:
        names = ", ".join(sorted(table.name for table in touched))
        raise UnscopedStatement(f"statement on {names} without an application; use Rows")
