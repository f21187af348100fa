"""Compare the list of erasures with the database, which may be a restored backup that is older than the list."""

import asyncio
from collections.abc import Mapping

from sqlalchemy import func, select
from sqlmodel import col

from wattgate.db.engine import Database
from wattgate.db.models import Erasure, User
from wattgate.db.personal_data.erasure_list import RESTORE_COPY, ErasureList, ListedErasure
from wattgate.db.row_scope import SystemAccess
from wattgate.db.tenancy_guard import SCOPED_OPTION
from wattgate.errors import Conflict

MAX_KEYS_PER_STATEMENT = 500


async def verify_erasures(database: Database, erasure_list: ErasureList | None) -> None:
    """Check that the database has all erasures of the list, and the list those that the database knows to be in it.

    The database needs the schema of this version. Raise Conflict if it may have erased users again, or
    ErasureListError if the list cannot be read.
    """
    recorded = await _find_recorded(database)
    if erasure_list is not None and erasure_list.exists():
        listed = await asyncio.to_thread(erasure_list.read)
        await _compare(database, erasure_list, listed, recorded)
    elif recorded:
        number = _users(len(recorded))
        if erasure_list is None:
            raise Conflict(
                f"WATTGATE_ERASURE_LIST is not set, although the erasures of {number} are in a list. Set it to the "
                "path of this list."
            )
        raise Conflict(
            f"The erasure list {erasure_list.file} does not exist, although the erasures of {number} are in it. "
            "Correct WATTGATE_ERASURE_LIST, or restore the newest copy of the list. If there is none, write a new one "
            "with `wattgate db export-erasures`."
        )


async def _compare(
    database: Database, erasure_list: ErasureList, listed: Mapping[str, ListedErasure], recorded: set[str]
) -> None:
    if unerased := await find_unerased(database, list(listed.values())):
        raise Conflict(
            f"The database still has {_users(len(unerased))} of the erasure list {erasure_list.file}, such as "
            f"{unerased[0].user_id}: it is a backup from before their erasure. Run `wattgate db apply-erasures`."
        )
    if missing := recorded - listed.keys():
        raise Conflict(
            f"The erasure list {erasure_list.file} lacks {_users(len(missing))} that the database knows to be in it, "
            f"such as {min(missing)}: it is an older copy, or lines were removed at its end. {RESTORE_COPY}."
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


def _users(number: int) -> str:
    return "1 user" if number == 1 else f"{number:,} users"
