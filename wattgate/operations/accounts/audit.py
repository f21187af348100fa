"""The audit log: a list for administrators and applications, and its export and check for the command line."""

from typing import Annotated

from sqlmodel import col

from wattgate.db import models
from wattgate.db.audit_chain import ChainCheck
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.errors import BadInput, Problem
from wattgate.operations.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.operations.types.identity import personal_data as types
from wattgate.operations.vocabulary.cost_weights import ListSize, linear_in_argument
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.values import terms
from wattgate.values.annotations import Described

DEFAULT_ENTRIES = 50
MAX_ENTRIES = 500


@operation(
    OperationKind.QUERY,
    returns=list[types.AuditEntry],
    needs=Permission.AUDIT_READ,
    rest=RestRoute("GET", "/auditlog", Tag.AUDIT_LOG),
    sizes=[ListSize(linear_in_argument("first", DEFAULT_ENTRIES, MAX_ENTRIES))],
    in_graphql=("application", "auditLog"),
)
async def audit_log(
    call: Call,
    *,
    first: terms.FirstEntries = DEFAULT_ENTRIES,
    after: Annotated[
        int, Described("Cursor: the page has only records after it. Default: from the beginning of the list.")
    ] = 0,
) -> list[models.AuditEntry]:
    """List the administrative acts in the application, oldest first.

    `after` is the sequence number of the last entry that you have. `first` is the maximum number of entries, up to 500.
    """
    if not 1 <= first <= MAX_ENTRIES:
        problem = Problem(("first",), f"is not between 1 and {MAX_ENTRIES}")
        raise BadInput(f"Invalid number of entries {first}. Give 1 to {MAX_ENTRIES}.", problems=[problem])
    return await call.rows.all(
        models.AuditEntry,
        col(models.AuditEntry.sequence) > after,
        order_by=[col(models.AuditEntry.sequence)],
        limit=first,
    )


@operation(
    OperationKind.QUERY,
    returns=list[str],
    needs=Permission.SYSTEM,
    system_access=SystemAccess.LIST_AUDITED_APPLICATIONS,
)
async def audited_applications(call: Call) -> list[str]:
    """Return the applications that have an audit log."""
    return sorted(await call.rows.application_ids_with(models.AuditEntry))


@operation(OperationKind.QUERY, returns=ChainCheck, needs=Permission.SYSTEM)
async def check_audit_log(call: Call) -> ChainCheck:
    """Check the hash chain of the application's audit log."""
    return await call.rows.check_audit_chain()
