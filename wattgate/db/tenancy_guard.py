"""The net under tenancy: a statement on records of applications that names no application raises."""

from collections.abc import Mapping
from typing import Any, cast

from sqlalchemy import ClauseElement, Executable, Table
from sqlalchemy.orm import ORMExecuteState
from sqlalchemy.sql import visitors
from sqlmodel import SQLModel

from wattgate.db.models import Tenanted

SCOPED_OPTION = {"scoped": True}
"""The execution option of statements that `Rows` has narrowed to an application, or `Identity` may run without."""

TENANT_TABLES = frozenset(
    cast(Table, mapper.local_table) for mapper in SQLModel._sa_registry.mappers if issubclass(mapper.class_, Tenanted)
)


class UnscopedStatementError(RuntimeError):
    """A defect of ours: records of applications were reached for without going through `Rows`."""


def check_tenant_scope(state: ORMExecuteState) -> None:
    """What a session asks before each statement; what it adds is an application's always."""
    if not state.is_insert:
        require_tenant_scope(state.statement, state.execution_options)


def require_tenant_scope(statement: Executable, options: Mapping[str, Any]) -> None:
    """Raise on SELECT, UPDATE or DELETE of a tenanted table unless the statement is marked as scoped."""
    if options.get("scoped"):
        return
    nodes = visitors.iterate(cast(ClauseElement, statement))
    tenant_tables = TENANT_TABLES.intersection(node for node in nodes if isinstance(node, Table))
    if tenant_tables:
        names = ", ".join(sorted(table.name for table in tenant_tables))
        raise UnscopedStatementError(f"statement on {names} without an application; use Rows")
