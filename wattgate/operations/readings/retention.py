"""Retention of readings, and the maintenance that the workers run for it."""

from datetime import timedelta
from typing import Annotated

from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db import models
from wattgate.db.identity.login_backoff import forget_old_failures
from wattgate.db.readings.series_keys import resource_number
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.db.stored_events import delete_old_events
from wattgate.energy.buckets import DAY_MS
from wattgate.errors import BadInput, Problem
from wattgate.operations.core.operation import Audit, Call, OperationKind, operation
from wattgate.operations.types.homes import resources as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import UNSET
from wattgate.principal import Permission
from wattgate.values.annotations import Described

MAX_RETENTION_DAYS = 36_500
"""Maximum retention: about 100 years."""

RESOURCES_PER_TRANSACTION = 100
"""Maximum resources whose old readings are deleted in one transaction."""

EMPTY_PARTITION_AGE = timedelta(days=31)
"""Time after the end of a month before its partition is dropped, if it is empty. Late readings may still arrive."""


@operation(
    OperationKind.MUTATION, returns=types.ResourceType, needs=Permission.RESOURCE_TYPE_WRITE, audit=Audit.EVERY_CALL
)
async def set_retention(
    call: Call,
    *,
    resource_type_id: ids.ResourceTypeId,
    retention_days: Annotated[int, Described("Age in days at which readings are deleted. Null keeps readings forever.")]
    | None = UNSET,
) -> models.ResourceType:
    """Set the age at which readings of a resource type are deleted. Null keeps readings forever.

    Older readings are deleted within the hour, and new readings that are older are rejected.
    """
    if retention_days is UNSET:
        problem = Problem(("retentionDays",), "is missing", is_missing=True)
        raise BadInput("Give retentionDays: a number of days, or null to keep readings forever.", problems=[problem])
    if retention_days is not None:
        check_retention_days(retention_days, "retentionDays")
    resource_type = await call.rows.edit(models.ResourceType, resource_type_id)
    resource_type.retention_days = retention_days
    return resource_type


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM, system_access=SystemAccess.FIND_WORK)
async def applications_with_retention(call: Call) -> list[str]:
    """Return the applications with a resource type whose readings are not kept forever."""
    return await call.rows.application_ids_with(
        models.ResourceType, col(models.ResourceType.retention_days).is_not(None)
    )


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def purge_readings(call: Call) -> int:
    """Delete the application's expired readings, of at most RESOURCES_PER_TRANSACTION resources.

    Return the number of resources with deleted readings. Whole days (UTC) are deleted, so that the rollups of the
    remaining readings stay correct.
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


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM, system_access=SystemAccess.FIND_WORK)
async def applications_with_login_failures(call: Call) -> list[str]:
    """Return the applications with failed attempts to log in."""
    return await call.rows.application_ids_with(models.LoginBackoff)


@operation(OperationKind.MUTATION, returns=None, needs=Permission.SYSTEM)
async def purge_login_failures(call: Call) -> None:
    """Delete failed attempts to log in that no longer matter."""
    await forget_old_failures(call.rows)


@operation(
    OperationKind.MUTATION,
    returns=None,
    needs=Permission.SYSTEM,
    system_access=SystemAccess.MAINTAIN_PARTITIONS,
)
async def run_maintenance(call: Call) -> None:
    """Create the partitions of the coming months, and drop those of past months that are empty.

    Delete the stored events that every process has read.
    """
    await delete_old_events(call.rows.write_session, call.rows.now)
    await call.rows.readings.maintain_partitions(call.rows.now, unused_since=call.rows.now - EMPTY_PARTITION_AGE)


def check_retention_days(days: int, *path: str | int) -> None:
    """Raise BadInput at `path` unless the retention is between 1 and MAX_RETENTION_DAYS."""
    if not 1 <= days <= MAX_RETENTION_DAYS:
        problem = Problem(path, f"is not between 1 and {MAX_RETENTION_DAYS:,}")
        raise BadInput(
            f"Invalid retention. Give 1 to {MAX_RETENTION_DAYS:,} days, or null to keep readings forever.",
            problems=[problem],
        )
