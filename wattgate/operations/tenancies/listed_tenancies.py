"""Tenancies and the list outside the database: a worker adds changes, and a restore takes them from there."""

from collections.abc import Sequence

from sqlalchemy import tuple_
from sqlmodel import col

from wattgate.db import models
from wattgate.db.personal_data.erasure_list import ListedTenancy
from wattgate.db.personal_data.tenancy_check import UNLISTED, listed_form
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.operations.core.operation import Audit, Call, OperationKind, operation
from wattgate.operations.tenancies.tenancy_repeats import repeat_tenancies_at
from wattgate.principal import Permission

MAX_TENANCIES_AT_ONCE = 2_000
"""Changes of tenancies that a worker adds to the list in one write."""


@operation(OperationKind.QUERY, returns=list[str], needs=Permission.SYSTEM, system_access=SystemAccess.FIND_WORK)
async def applications_with_unlisted_tenancies(call: Call) -> list[str]:
    """Return the applications with changes of tenancies that are not in the list outside the database yet."""
    return await call.rows.application_ids_with(models.MeterPointTenancy, UNLISTED)


@operation(OperationKind.QUERY, returns=list[ListedTenancy], needs=Permission.SYSTEM)
async def unlisted_tenancies(call: Call) -> list[ListedTenancy]:
    """Return up to MAX_TENANCIES_AT_ONCE tenancies whose last change is not in the list outside the database yet."""
    return listed_form(await call.rows.all(models.MeterPointTenancy, UNLISTED, limit=MAX_TENANCIES_AT_ONCE))


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM)
async def mark_tenancies_listed(call: Call, *, tenancies: Sequence[ListedTenancy]) -> int:
    """Store that states of tenancies are in the list outside the database. Return how many are the last ones."""
    model = models.MeterPointTenancy
    key = tuple_(col(model.tenancy_id), col(model.updated_at))
    is_last = key.in_([(tenancy.tenancy_id, tenancy.changed_at) for tenancy in tenancies])
    values = {"listed_change": col(model.updated_at), "updated_at": col(model.updated_at)}
    return await call.rows.update(model, is_last, **values)


@operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM, audit=Audit.EVERY_CALL)
async def repeat_tenancies(
    call: Call, *, mpxn: str, tenancies: Sequence[ListedTenancy], erased_users: Sequence[str]
) -> int:
    """Repeat the changes of tenancies at a meter point that a restored backup has taken back. Return their number.

    `erased_users` are the users of the list of erasures, which are erased afterwards.
    """
    return await repeat_tenancies_at(call, mpxn, tenancies, erased_users)
