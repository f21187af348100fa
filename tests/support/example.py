"""How an example call is written: an async function of a tenant that gives the variables."""

from collections.abc import Awaitable, Callable
from typing import Any

from tests.support.house import Tenant

Example = Callable[[Tenant], Awaitable[dict[str, Any]]]


def fixed(variables: Callable[[Tenant], dict[str, Any]]) -> Example:
    async def example(tenant: Tenant) -> dict[str, Any]:
        return variables(tenant)

    return example


def by_id(name: str, key: str, **more: Any) -> Example:
    return fixed(lambda tenant: {key: tenant.ids[name], **more})


NOTHING = fixed(lambda tenant: {})
