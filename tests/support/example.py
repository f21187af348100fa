"""Helpers for example calls. An example is an async function that returns the variables for a tenant."""

from collections.abc import Awaitable, Callable
from decimal import Decimal
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


def pence_of(rate: dict[str, Any]) -> float:
    """Return the pence of a rate in pounds, which REST has."""
    return float(Decimal(str(rate["amount"])) * 100)
