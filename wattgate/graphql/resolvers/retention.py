"""Retention of readings, and the maintenance that the workers run for it."""

from datetime import timedelta

import strawberry
from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db import models
from wattgate.db.readings.series_keys import resource_number
from wattgate.energy.buckets import DAY_MS
from wattgate.errors import BadInput, Problem
from wattgate.graphql.core.operation import Call, OperationKind, operation
from wattgate.graphql.types import resources as types
from wattgate.principal import Permission

MAX_RETENTION_DAYS = 36_500
"""Maximum retention: about 100 years."""

RESOURCES_PER_TRANSACTION = 100
"""Maximum resources whose old readings are deleted in one transaction."""

EMPTY_PARTITION_AGE = timedelta(days=31)
"""Time after the end of a month before its partition is dropped, if it is empty. Late readings may still arrive."""


@operation(OperationKind.MUTATION, returns=types.ResourceType, needs=Permission.RESOURCE_TYPE_WRITE)
async def set_retention(
    call: Call, *, resource_type_id: strawberry.ID, retention_days: int | None = strawberry.UNSET
) -> models.ResourceType:
    """Say after how many days the readings of a type's resources are deleted; null keeps them for good.

    Readings that are older already go within the hour; readings that are older on arrival are refused.
    """
    if retention_days is strawberry.UNSET:
        problem = Problem(("retentionDays",), "is missing", is_missing=True)
        raise BadInput("Give retentionDays: a number of days, or null to keep readings forever.", problems=[problem])
    if retention_days is not None:
        check_retention_days(retention_days, "retentionDays")
    resource_type = await call.rows.edit(models.ResourceType, resource_type_id)
    resource_type.retention_days = retention_days
    return resource_type


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM)
async def applications_with_retention(call: Call) -> list[str]:
    """The applications that do not keep all readings for good."""
    return await call.rows.application_ids_with(
        models.ResourceType, col(models.ResourceType.retention_days).is_not(None)
    )


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def purge_readings(call: Call) -> int:
    """Delete the application's readings that are kept long enough, of some resources; of how many there were any.

    Whole days (UTC) are deleted, so that what remains is rolled up as before.
    """
    resource_types = await call.rows.all(models.ResourceType, col(models.ResourceType.retention_days).is_not(None))
    remaining = RESOURCES_PER_TRANSACTION
    for resource_type in resource_types:
        before = to_ms(call.rows.now - timedelta(days=resource_type.retention_days or 0)) // DAY_MS * DAY_MS
        resources = await call.rows.all(
            models.Resource,
            col(models.Resource.resource_type_id) == resource_type.resource_type_id,
            order_by=["number"],
        )
        remaining -= await call.rows.readings.purge(
            [resource_number(resource) for resource in resources], before, limit=remaining
        )
    return RESOURCES_PER_TRANSACTION - remaining


@operation(OperationKind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def run_maintenance(call: Call) -> None:
    """Make room for the readings of the months to come, and give back that of months which are empty."""
    await call.rows.readings.maintain_partitions(call.rows.now, unused_since=call.rows.now - EMPTY_PARTITION_AGE)


def check_retention_days(days: int, *path: str | int) -> None:
    """Raise BadInput at `path` unless the retention is between 1 and MAX_RETENTION_DAYS."""
    if not 1 <= days <= MAX_RETENTION_DAYS:
        problem = Problem(path, f"is not between 1 and {MAX_RETENTION_DAYS:,}")
        raise BadInput(
            f"Invalid retention. Give 1 to {MAX_RETENTION_DAYS:,} days, or null to keep readings forever.",
            problems=[problem],
        )
