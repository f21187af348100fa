"""Helpers for example calls. An example is an async function that returns the variables for a tenant."""

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
