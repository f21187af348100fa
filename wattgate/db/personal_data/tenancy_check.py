"""Compare the tenancies of the list of erasures with those of the database, which may be a restored backup.

A restore takes back the moves after the backup. Then the former household lives at the meter point again, and would get
the half hours of the next one.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from sqlalchemy import func, or_, select
from sqlmodel import col

from wattgate.db.connections.engine import Database
from wattgate.db.models import Application, MeterPointTenancy
from wattgate.db.personal_data.erasure_list import ListedTenancy
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION

UNLISTED = or_(
    col(MeterPointTenancy.listed_change).is_(None),
    col(MeterPointTenancy.listed_change) != col(MeterPointTenancy.updated_at),
)
"""The condition of tenancies whose last change is not in the list yet."""

COLUMNS = ("application_id", "tenancy_id", "user_id", "mpxn", "began_at", "ended_at", "updated_at")
"""The columns of a tenancy in the order of the fields of `ListedTenancy`."""

LISTED_WITHIN = timedelta(minutes=1)
"""Time within which a running gateway adds a change to the list."""


async def read_listed(database: Database) -> dict[str, datetime]:
    """Return the change of each tenancy that is in the list as the database knows, by the id of the tenancy."""
    listed_change = col(MeterPointTenancy.listed_change)
    statement = select(col(MeterPointTenancy.tenancy_id), listed_change).where(listed_change.is_not(None))
    async with database.reader(SystemAccess.COMPARE_ERASURES) as session:
        return dict(row for row in await session.execute(statement, execution_options=SCOPED_OPTION))


async def find_unapplied(database: Database, listed: Mapping[str, ListedTenancy]) -> list[ListedTenancy]:
    """Return the listed tenancies that the database lacks, or of which it has an earlier state.

    The list was read before, because gateways add the changes that they have committed. Applications that the database
    does not have are left out: nobody has rights in these.
    """
    columns = (col(MeterPointTenancy.tenancy_id), col(MeterPointTenancy.updated_at))
    async with database.reader(SystemAccess.COMPARE_ERASURES) as session:
        changes = dict(row for row in await session.execute(select(*columns), execution_options=SCOPED_OPTION))
        result = await session.execute(select(col(Application.application_id)), execution_options=SCOPED_OPTION)
        applications = set(result.scalars())
    found = [
        tenancy
        for tenancy in listed.values()
        if (changed_at := changes.get(tenancy.tenancy_id)) is None or changed_at < tenancy.changed_at
    ]
    return [tenancy for tenancy in found if tenancy.application_id in applications]


def find_lost(listed: Mapping[str, ListedTenancy], recorded: Mapping[str, datetime]) -> list[str]:
    """Return the ids of tenancies of which the list lacks a change that is in it as the database knows."""
    return [
        tenancy_id
        for tenancy_id, change in recorded.items()
        if (entry := listed.get(tenancy_id)) is None or entry.changed_at < change
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


def listed_form(tenancies: Iterable[MeterPointTenancy]) -> list[ListedTenancy]:
    """Return tenancies as the list has them."""
    return [ListedTenancy(*(getattr(tenancy, name) for name in COLUMNS)) for tenancy in tenancies]
