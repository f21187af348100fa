"""A tenant's rows, for what no operation asks of them."""

from collections.abc import Awaitable, Callable
from typing import Any

from tests.support.house import Tenant
from wattgate.db.rows import Rows
from wattgate.graphql.core.operation import Call, Operation, OperationKind
from wattgate.principal import Permission, Principal


async def with_rows(
    tenant: Tenant,
    function: Callable[[Rows], Awaitable[Any]],
    *,
    write: bool = False,
    principal: Principal | None = None,
) -> Any:
    """What a function of rows answers: the tenant's own, with every permission, unless somebody else asks."""

    async def resolve(call: Call) -> Any:
        return await function(call.rows)

    kind = OperationKind.MUTATION if write else OperationKind.QUERY
    operation = Operation("ask", kind, resolve, returns=None, needs=Permission.RESOURCE_READ, description="")
    return await tenant.gateway.runner.run(operation, principal or tenant.system, {})
