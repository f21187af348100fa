"""Compare the list of erasures with the database, which may be a restored backup that is older than the list."""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from sqlalchemy import func, or_, select
from sqlmodel import col

from wattgate.db.connections.engine import Database
from wattgate.db.models import Application, Erasure, MeterPointTenancy, User
from wattgate.db.personal_data.erasure_list import RESTORE_COPY, ErasureList, ListContent, ListedErasure, ListedTenancy
from wattgate.db.scope.row_scope import SystemAccess
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION
from wattgate.errors import Conflict

MAX_KEYS_PER_STATEMENT = 500


async def verify_erasures(database: Database, erasure_list: ErasureList | None) -> None:
    """Check that the database has all of the list, and the list what the database knows to be in it.

    These are the erasures and the tenancies. The database needs the schema of this version. Raise Conflict if it may
    have erased users or ended tenancies again, or ErasureListError if the list cannot be read.
    """
    erased, tenancies = await _find_recorded(database), await read_listed(database)
    if erasure_list is not None and erasure_list.exists():
        content = await asyncio.to_thread(erasure_list.read)
        await _check_database(database, erasure_list, content)
        _check_list(erasure_list, content, erased, tenancies)
        return
    if not erased and not tenancies:
        return
    counts = [f"the erasures of {_users(len(erased))}"] if erased else []
    text = " and ".join([*counts, _tenancies(len(tenancies))] if tenancies else counts)
    if erasure_list is None:
        raise Conflict(f"WATTGATE_ERASURE_LIST is not set, although {text} are in a list. Set it to its path.")
    raise Conflict(
        f"The erasure list {erasure_list.file} does not exist, although {text} are in it. Correct "
        "WATTGATE_ERASURE_LIST, or restore the newest copy of the list. If there is none, write a new one with "
        "`wattgate db export-erasures`."
    )


async def _check_database(database: Database, erasure_list: ErasureList, content: ListContent) -> None:
    """Raise Conflict if the database is a backup from before some entries of the list."""
    problems = []
    if unerased := await find_unerased(database, list(content.erasures.values())):
        problems.append(
            f"The database still has {_users(len(unerased))} of the erasure list {erasure_list.file}, such as "
            f"{unerased[0].user_id}: it is a backup from before their erasure."
        )
    if unapplied := await find_unapplied(database, content.tenancies):
        problems.append(
            f"The database lacks changes of {_tenancies(len(unapplied))} of the erasure list {erasure_list.file}, such "
            f"as at meter point {unapplied[0].mpxn}: it is a backup from before these moves."
        )
    if problems:
        raise Conflict(" ".join([*problems, "Run `wattgate db apply-erasures`."]))


def _check_list(
    erasure_list: ErasureList, content: ListContent, erased: set[str], tenancies: Mapping[str, datetime]
) -> None:
    """Raise Conflict if the list lacks entries that are in it as the database knows: its users and changes."""
    missing, lost = erased - content.erasures.keys(), find_lost(content.tenancies, tenancies)
    counts = [_users(len(missing))] if missing else []
    if lost:
        counts.append(f"changes of {_tenancies(len(lost))}")
    if counts:
        raise Conflict(
            f"The erasure list {erasure_list.file} lacks {' and '.join(counts)} that the database knows to be in it, "
            f"such as {min(missing or lost)}: it is an older copy, or lines were removed at its end. {RESTORE_COPY}."
        )


async def find_unerased(database: Database, erasures: list[ListedErasure]) -> list[ListedErasure]:
    """Return those of some erasures whose user exists, and is not erased or being erased."""
    found = set[str]()
    async with database.reader(SystemAccess.COMPARE_ERASURES) as session:
        for start in range(0, len(erasures), MAX_KEYS_PER_STATEMENT):
            user_ids = [erasure.user_id for erasure in erasures[start : start + MAX_KEYS_PER_STATEMENT]]
            unerased = col(User.user_id).in_(user_ids) & col(User.erased_at).is_(None)
            result = await session.execute(select(col(User.user_id)).where(unerased), execution_options=SCOPED_OPTION)
            found.update(result.scalars())
    return [erasure for erasure in erasures if erasure.user_id in found]


async def read_erasures(database: Database) -> list[ListedErasure]:
    """Return all erasures that the database has, oldest first."""
    columns = (col(Erasure.application_id), col(Erasure.user_id), col(Erasure.created_at))
    async with database.reader(SystemAccess.COMPARE_ERASURES) as session:
        statement = select(*columns).order_by(col(Erasure.created_at), col(Erasure.user_id))
        rows = await session.execute(statement, execution_options=SCOPED_OPTION)
        return [ListedErasure(*row) for row in rows]


async def count_unlisted(database: Database) -> int:
    """Return the number of erasures that are not in a list yet."""
    async with database.reader(SystemAccess.COMPARE_ERASURES) as session:
        statement = select(func.count()).select_from(Erasure).where(col(Erasure.listed_at).is_(None))
        return int((await session.execute(statement, execution_options=SCOPED_OPTION)).scalar_one())


async def _find_recorded(database: Database) -> set[str]:
    """Return the users whose erasure is in a list, as the database knows."""
    async with database.reader(SystemAccess.COMPARE_ERASURES) as session:
        statement = select(col(Erasure.user_id)).where(col(Erasure.listed_at).is_not(None))
        return set((await session.execute(statement, execution_options=SCOPED_OPTION)).scalars())


def _tenancies(number: int) -> str:
    return "1 tenancy" if number == 1 else f"{number:,} tenancies"


def _users(number: int) -> str:
    return "1 user" if number == 1 else f"{number:,} users"


# Compare the tenancies of the list of erasures with those of the database, which may be a restored backup.
#
# A restore takes back the moves after the backup. Then the former household lives at the meter point again, and would
# get the half hours of the next one.

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
