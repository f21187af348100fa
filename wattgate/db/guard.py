"""The net under tenancy: a statement on records of applications that names no application raises."""

from typing import cast

from sqlalchemy import ClauseElement, Table
from sqlalchemy.orm import ORMExecuteState
from sqlalchemy.sql import visitors
from sqlmodel import SQLModel

from wattgate.db.models import Tenanted

SCOPED = {"scoped": True}
"""The execution option of statements that `Rows` has narrowed to an application, or `Identity` may run without."""

TENANTED = frozenset(
    cast(Table, mapper.local_table) for mapper in SQLModel._sa_registry.mappers if issubclass(mapper.class_, Tenanted)
)


class UnscopedStatement(RuntimeError):
    """A defect of ours: records of applications were reached for without going through `Rows`."""


def refuse_unscoped(state: ORMExecuteState) -> None:
    """Raise on SELECT, UPDATE or DELETE of a tenanted table unless the statement is marked as scoped."""
    if state.execution_options.get("scoped") or state.is_insert:
        return
    nodes = visitors.iterate(cast(ClauseElement, state.statement))
    touched = TENANTED.intersection(node for node in nodes if isinstance(node, Table))
    if touched:
        names = ", ".join(sorted(table.name for table in touched))
        raise UnscopedStatement(f"statement on {names} without an application; use Rows")
