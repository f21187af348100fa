"""The net under tenancy: a statement on records of applications that names no application raises."""

from collections.abc import Mapping
from typing import Any, cast

from sqlalchemy import ClauseElement, Executable, Table
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


def guard(state: ORMExecuteState) -> None:
    """What a session asks before each statement; what it adds is an application's always."""
    if not state.is_insert:
        refuse_unscoped(state.statement, state.execution_options)


def refuse_unscoped(statement: Executable, options: Mapping[str, Any]) -> None:
    """Raise on SELECT, UPDATE or DELETE of a tenanted table unless the statement is marked as scoped."""
    if options.get("scoped"):
        return
    nodes = visitors.iterate(cast(ClauseElement, statement))
    touched = TENANTED.intersection(node for node in nodes if isinstance(node, Table))
    if touched:
        names = ", ".join(sorted(table.name for table in touched))
        raise UnscopedStatement(f"statement on {names} without an application; use Rows")
