"""Compare the tenancies of the list of erasures with those of the database, which may be a restored backup.

A restore takes back the moves after the backup. Then the former household lives at the meter point again, and would get
the half hours of the next one.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import func, or_, select
from sqlmodel import col

from wattgate.db.engine import Database
from wattgate.db.models import Application, MeterPointTenancy
from wattgate.db.personal_data.erasure_list import ListedTenancy
from wattgate.db.row_scope import SystemAccess
from wattgate.db.tenancy_guard import SCOPED_OPTION

UNLISTED = or_(
    col(MeterPointTenancy.listed_change).is_(None),
    col(MeterPointTenancy.listed_change) != col(MeterPointTenancy.updated_at),
)
"""The condition of tenancies whose last change is not in the list yet."""

LISTED_WITHIN = timedelta(minutes=1)
"""Time within which a running gateway adds a change to the list."""


class KnownChange(NamedTuple):
    """The last change of a tenancy in the database, and the change that the list has as the database knows."""

    changed_at: datetime
    listed_change: datetime | None


async def read_changes(database: Database) -> dict[str, KnownChange]:
    """Return the last changes of all tenancies of the database, by their ids."""
    model = MeterPointTenancy
    columns = (col(model.tenancy_id), col(model.updated_at), col(model.listed_change))
    async with database.reader(SystemAccess.COMPARE_ERASURES) as session:
        rows = await session.execute(select(*columns), execution_options=SCOPED_OPTION)
        return {tenancy_id: KnownChange(*changes) for tenancy_id, *changes in rows}


async def find_unapplied(database: Database, listed: Mapping[str, ListedTenancy]) -> list[ListedTenancy]:
    """Return the listed tenancies that the database lacks, or of which it has an earlier state.

    The list was read before, because gateways add the changes that they have committed. Applications that the database
    does not have are left out: nobody has rights in these.
    """
    known = await read_changes(database)
    found = [
        tenancy
        for tenancy in listed.values()
        if (change := known.get(tenancy.tenancy_id)) is None or change.changed_at < tenancy.changed_at
    ]
    if not found:
        return []
    async with database.reader(SystemAccess.COMPARE_ERASURES) as session:
        result = await session.execute(select(col(Application.application_id)), execution_options=SCOPED_OPTION)
        applications = set(result.scalars())
    return [tenancy for tenancy in found if tenancy.application_id in applications]


def find_lost(listed: Mapping[str, ListedTenancy], known: Mapping[str, KnownChange]) -> list[str]:
    """Return the ids of tenancies of which the list lacks a change that the database knows to be in it."""
    return [
        tenancy_id
        for tenancy_id, change in known.items()
        if change.listed_change is not None
        and ((entry := listed.get(tenancy_id)) is None or entry.changed_at < change.listed_change)
    ]


async def read_tenancies(database: Database) -> list[ListedTenancy]:
    """Return all tenancies that the database has, by the time of their last change."""
    model = MeterPointTenancy
    async with database.reader(SystemAccess.COMPARE_ERASURES) as session:
        statement = select(*(getattr(model, name) for name in COLUMNS)).order_by(
            col(model.updated_at), col(model.tenancy_id)
        )
        rows = await session.execute(statement, execution_options=SCOPED_OPTION)
        return [ListedTenancy(*row) for row in rows]


async def count_late(database: Database, now: datetime) -> int:
    """Return the number of changes that are not in the list, although a gateway should have added them."""
    is_late = UNLISTED & (col(MeterPointTenancy.updated_at) < now - LISTED_WITHIN)
    async with database.reader(SystemAccess.COMPARE_ERASURES) as session:
        statement = select(func.count()).select_from(MeterPointTenancy).where(is_late)
        return int((await session.execute(statement, execution_options=SCOPED_OPTION)).scalar_one())


COLUMNS = ("application_id", "tenancy_id", "user_id", "mpxn", "began_at", "ended_at", "updated_at")
"""The columns of a tenancy in the order of the fields of `ListedTenancy`."""


def listed_form(tenancies: Iterable[MeterPointTenancy]) -> list[ListedTenancy]:
    """Return tenancies as the list has them."""
    return [ListedTenancy(*(getattr(tenancy, name) for name in COLUMNS)) for tenancy in tenancies]
