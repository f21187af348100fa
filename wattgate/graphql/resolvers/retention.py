"""How long readings are kept, and what has to be done for it from time to time."""

from datetime import timedelta

import strawberry
from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db import models
from wattgate.db.readings.series_keys import number_of
from wattgate.energy.buckets import DAY
from wattgate.errors import BadInput, Problem
from wattgate.graphql.core.operation import Call, Kind, operation
from wattgate.graphql.types import resources as types
from wattgate.principal import Permission

MAX_DAYS = 36_500

AT_ONCE = 100
"""Of how many resources old readings are deleted in one transaction."""

UNUSED = timedelta(days=31)
"""How long after its end an empty month still has its partition: late readings may come."""


@operation(Kind.MUTATION, returns=types.ResourceType, needs=Permission.RESOURCE_TYPE_WRITE)
async def set_retention(
    call: Call, *, resource_type_id: strawberry.ID, retention_days: int | None = strawberry.UNSET
) -> models.ResourceType:
    """Say after how many days the readings of a type's resources are deleted; null keeps them for good.

    Readings that are older already go within the hour; readings that are older on arrival are refused.
    """
    if retention_days is strawberry.UNSET:
        problem = Problem(("retentionDays",), "is missing", missing=True)
        raise BadInput("say for how many days, or null for good", problems=[problem])
    if retention_days is not None:
        check_days(retention_days, "retentionDays")
    kind = await call.rows.edit(models.ResourceType, resource_type_id)
    kind.retention_days = retention_days
    return kind


@operation(Kind.QUERY, returns=list[str], needs=Permission.SYSTEM)
async def applications_with_retention(call: Call) -> list[str]:
    """The applications that do not keep all readings for good."""
    return await call.rows.applications_with(models.ResourceType, col(models.ResourceType.retention_days).is_not(None))


@operation(Kind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def forget_readings(call: Call) -> int:
    """Delete the application's readings that are kept long enough, of some resources; of how many there were any.

    Whole days (UTC) are deleted, so that what remains is rolled up as before.
    """
    kinds = await call.rows.all(models.ResourceType, col(models.ResourceType.retention_days).is_not(None))
    left = AT_ONCE
    for kind in kinds:
        before = to_ms(call.rows.now - timedelta(days=kind.retention_days or 0)) // DAY * DAY
        of_kind = await call.rows.all(
            models.Resource, col(models.Resource.resource_type_id) == kind.resource_type_id, order_by=["number"]
        )
        left -= await call.rows.series.forget([number_of(one) for one in of_kind], before, limit=left)
    return AT_ONCE - left


@operation(Kind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def keep_house(call: Call) -> None:
    """Make room for the readings of the months to come, and give back that of months which are empty."""
    await call.rows.series.keep_house(call.rows.now, unused_since=call.rows.now - UNUSED)


def check_days(days: int, *path: str | int) -> None:
    """BadInput unless readings can be kept for so many days."""
    if not 1 <= days <= MAX_DAYS:
        problem = Problem(path, f"is not between 1 and {MAX_DAYS:,}")
        raise BadInput(f"readings are kept for 1 to {MAX_DAYS:,} days, or for good", problems=[problem])
