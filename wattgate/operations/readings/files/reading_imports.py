"""Operations of the import of readings from files: find homes and resources, and check readings without storing."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, or_
from sqlmodel import col

from wattgate.db import models
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.energy.arrays import IntArray
from wattgate.operations.core.operation import Call, OperationKind, operation
from wattgate.operations.credentials.login import normalize_username
from wattgate.operations.readings.bulk_recording import BulkReadingBatch, validate_batch
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.cost_weights import BULK_READINGS_PER_UNIT, STATEMENT_WEIGHT, ArgumentMeasure
from wattgate.principal import Permission

MAX_RESOURCES = 1_000
"""Maximum resources in a call of `resources_by_id`."""

MAX_HOMES = 10
"""Maximum homes of the same name in the result of `homes_named`."""


@dataclass(frozen=True, slots=True)
class NamedHome:
    """A home with its application and the username of its owner, if the owner has an account."""

    home: models.VirtualEntity
    application_name: str
    username: str | None


@dataclass(frozen=True, slots=True)
class CheckedArrays:
    """How many readings of a batch are new, replace a stored one, or are stored already, and the rejected ones.

    `rejected` has the indexes of all rejected readings, and `refused` those of the first ones with their reasons.
    """

    added: int
    replaced: int
    unchanged: int
    refused: list[tuple[int, str]]
    rejected: IntArray

    @property
    def count(self) -> int:
        """The number of valid readings."""
        return self.added + self.replaced + self.unchanged


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM, system_access=SystemAccess.FIND_HOME)
async def applications_with_home(call: Call, *, home: Id) -> list[str]:
    """Return the applications that have an active home of this name or ID."""
    return sorted(await call.rows.application_ids_with(models.VirtualEntity, *_is_home(home)))


@operation(OperationKind.QUERY, returns=list[NamedHome], needs=Permission.SYSTEM)
async def homes_named(call: Call, *, home: Id, user: Id | None = None) -> list[NamedHome]:
    """Return the application's active homes of this name or ID, oldest first. `user` is a username or user ID."""
    application = await call.rows.application()
    where = list(_is_home(home))
    if user is not None:
        accounts = await call.rows.all(
            models.Account,
            or_(col(models.Account.username) == normalize_username(user), col(models.Account.user_id) == user),
        )
        # a user without an account has homes too
        where.append(col(models.VirtualEntity.owner_id).in_({user, *(account.user_id for account in accounts)}))
    homes = await call.rows.all(
        models.VirtualEntity, *where, order_by=[models.VirtualEntity.created_at], limit=MAX_HOMES
    )
    owners = await call.rows.all(models.Account, col(models.Account.user_id).in_({home.owner_id for home in homes}))
    usernames = {account.user_id: account.username for account in owners}
    application_name = application.name if application else ""
    return [NamedHome(home, application_name, usernames.get(home.owner_id)) for home in homes]


@operation(OperationKind.QUERY, returns=list[models.Resource], needs=Permission.SYSTEM)
async def resources_by_id(call: Call, *, resource_ids: list[Id]) -> list[models.Resource]:
    """Return the resources with these IDs. Unknown IDs are left out."""
    return list((await call.rows.get_many(models.Resource, resource_ids)).values())


def _check_cost(now: datetime, batch: Any) -> int:
    """Return the cost of the check of a batch: less than a quarter of what its recording costs."""
    count = len(batch.at) if isinstance(batch, BulkReadingBatch) else 0
    return STATEMENT_WEIGHT + count // (4 * BULK_READINGS_PER_UNIT)


@operation(
    OperationKind.QUERY,
    returns=CheckedArrays,
    needs=Permission.READINGS_WRITE,
    weight=ArgumentMeasure(("batch",), _check_cost),
    internal=True,
)
async def check_reading_arrays(call: Call, *, batch: BulkReadingBatch) -> CheckedArrays:
    """Return what `record_reading_arrays` would do with a batch. Store nothing."""
    checked = await validate_batch(call, batch)
    unchanged, replaced = await call.rows.readings.count_stored(checked.readings)
    added = len(checked.readings.at) - unchanged - replaced
    return CheckedArrays(added, replaced, unchanged, checked.refused, checked.rejected)


def _is_home(home: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the conditions of active homes with this name or ID."""
    return (
        col(models.VirtualEntity.active).is_(True),
        or_(col(models.VirtualEntity.name) == home, col(models.VirtualEntity.ve_id) == home),
    )
