"""Access to a tenant's rows for tests that need more than the operations offer."""

from collections.abc import Awaitable, Callable
from typing import Any

from tests.support.house import Tenant
from wattgate.db.rows.rows import Rows
from wattgate.operations.core.operation import Call, Operation, OperationKind
from wattgate.principal import Permission, Principal


async def with_rows(
    tenant: Tenant,
    function: Callable[[Rows], Awaitable[Any]],
    *,
    write: bool = False,
    principal: Principal | None = None,
) -> Any:
    """Return the result of a function of the rows that a principal can access: by default, all rows of the tenant."""

    async def resolve(call: Call) -> Any:
        return await function(call.rows)

    kind = OperationKind.MUTATION if write else OperationKind.QUERY
    operation = Operation("ask", kind, resolve, returns=None, needs=Permission.RESOURCE_READ, description="")
    return await tenant.gateway.runner.run(operation, principal or tenant.system, {})
