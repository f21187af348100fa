"""Tenant isolation check: raise if a statement touches a tenant table without an application filter."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from sqlalchemy import ClauseElement, Executable, Table, inspect
from sqlalchemy.orm import ORMExecuteState
from sqlalchemy.sql import visitors

from wattgate.db.models import Tenanted

SCOPED_OPTION = {"scoped": True}
"""The execution option of permitted statements: `Rows` has added the filter, or a credential lookup needs none."""


def tenanted_models(base: type[Tenanted] = Tenanted) -> Iterator[type[Tenanted]]:
    """Yield the models of the tables with the records of applications."""
    for model in base.__subclasses__():
        if inspect(model, raiseerr=False) is not None:  # a base class has no table
            yield model
        yield from tenanted_models(model)


TENANT_TABLES = frozenset(cast(Table, inspect(model).local_table) for model in tenanted_models())


class UnscopedStatementError(RuntimeError):
    """A defect in the gateway: a statement uses a tenant table, but does not come from `Rows`."""


def check_tenant_scope(state: ORMExecuteState) -> None:
    """Check each ORM statement of a session before it runs. An INSERT always has an application."""
    if not state.is_insert:
        require_tenant_scope(state.statement, state.execution_options)


def require_tenant_scope(statement: Executable, options: Mapping[str, Any]) -> None:
    """Raise UnscopedStatementError for a tenant table in a statement that is not marked as scoped."""
    if options.get("scoped"):
        return
    nodes = visitors.iterate(cast(ClauseElement, statement))
    tenant_tables = TENANT_TABLES.intersection(node for node in nodes if isinstance(node, Table))
    if tenant_tables:
        names = ", ".join(sorted(table.name for table in tenant_tables))
        raise UnscopedStatementError(
            f"A statement on {names} has no application filter. Use Rows to access tenant tables."
        )
