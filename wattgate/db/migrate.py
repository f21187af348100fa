"""Upgrades of a database to the schema that this version of the code expects.

Alembic is imported only to run migrations. A gateway that serves requests does not need it.
"""

import asyncio
import logging
from importlib import import_module
from pathlib import Path
from typing import Any

from sqlalchemy import inspect, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from wattgate.db.connections.database_name import database_name
from wattgate.db.connections.engine import Database
from wattgate.db.row_security import install_policies
from wattgate.errors import Conflict, Unavailable

log = logging.getLogger(__name__)

MIGRATIONS = Path(__file__).parent / "migrations"

NEWEST_REVISION = max(file.name.partition("_")[0] for file in (MIGRATIONS / "versions").glob("[0-9]*.py"))
"""The revision id of the newest migration."""

FIRST_REVISION = "0001"

_VERSION_TABLE = "alembic_version"


LOCK_SECONDS = 0.5
"""The default wait for a lock. While a migration waits, all statements that begin on the table wait behind it.

PostgreSQL ends a deadlock after one second, by an error of a transaction that waits. An upgrade that waits for less
mostly ends it before, so that no request of a gateway fails.
"""

LOCK_ATTEMPTS = 40
LOCK_PAUSE_SECONDS = 1.0
"""After a failed attempt, the statements that waited behind it run for this time."""

LOCK_NOT_AVAILABLE = "55P03"
DEADLOCK_DETECTED = "40P01"


async def upgrade(
    database: Database, *, lock_seconds: float = LOCK_SECONDS, lock_attempts: int = LOCK_ATTEMPTS
) -> None:
    """Run every migration that is not applied yet, in one transaction if the database supports that.

    On PostgreSQL, an attempt ends without a change if it waits for a lock for `lock_seconds`, or is part of a deadlock.
    Raise Unavailable if all attempts end so, and Conflict if the database has a revision that this version does not
    know.
    """
    for attempt in range(1, lock_attempts + 1):
        try:
            await _upgrade_once(database, lock_seconds)
            break
        except DBAPIError as error:
            state = getattr(error.orig, "sqlstate", None)
            if state not in (LOCK_NOT_AVAILABLE, DEADLOCK_DETECTED):
                raise
        if attempt == lock_attempts:
            raise Unavailable(
                f"Another transaction uses a table, so the upgrade got no lock in {lock_attempts} attempts of "
                f"{lock_seconds:g} s. Nothing was changed. Find the transaction in pg_stat_activity, end it, and run "
                "the upgrade again."
            )
        log.warning(
            "Another transaction uses a table: %s (attempt %d of %d). Nothing was changed; next attempt in %g s",
            "a deadlock" if state == DEADLOCK_DETECTED else f"no lock within {lock_seconds:g} s",
            attempt,
            lock_attempts,
            LOCK_PAUSE_SECONDS,
        )
        await asyncio.sleep(LOCK_PAUSE_SECONDS)
    if not database.is_sqlite:
        await database.close()  # new connections find out whether the policies exist


async def _upgrade_once(database: Database, lock_seconds: float) -> None:
    async with database.engine.begin() as connection:
        if not database.is_sqlite:
            milliseconds = {"milliseconds": str(int(lock_seconds * 1000))}
            await connection.execute(text("SELECT set_config('lock_timeout', :milliseconds, true)"), milliseconds)
        await connection.run_sync(_upgrade, database_name(database.url))


async def is_current(database: Database) -> bool:
    """Return whether exactly the known migrations are applied."""
    async with database.engine.connect() as connection:
        return await connection.run_sync(_applied_revisions) == {NEWEST_REVISION}


async def find_schema_problem(database: Database) -> str | None:
    """Return why the schema is not the one of this version, and what to do; None if it is."""
    async with database.engine.connect() as connection:
        applied = await connection.run_sync(_applied_revisions)
    if applied == {NEWEST_REVISION}:
        return None
    name = database_name(database.url)
    if problem := _unknown_revision(name, applied):
        return problem
    if not applied:
        return f"{name} has no schema. To correct that, check WATTGATE_DATABASE_URL, or run wattgate db upgrade"
    return (
        f"{name} does not have the schema of this version: its revision is {max(applied)}, and this version needs "
        f"{NEWEST_REVISION}. To correct that, run wattgate db upgrade"
    )


def _unknown_revision(name: str, applied: set[str]) -> str | None:
    """Return what to do about a revision that this version does not know; None if it can upgrade the database."""
    unknown = max((revision for revision in applied if revision > NEWEST_REVISION), default=None)
    if unknown is None:
        return None
    return (
        f"{name} has the schema of a newer version: its revision is {unknown}, and this version knows "
        f"{NEWEST_REVISION}. Install the newer version, or restore the backup from before the upgrade"
    )


async def is_empty(database: Database) -> bool:
    """Return whether no migration is applied, so that the database has no schema."""
    async with database.engine.connect() as connection:
        return not await connection.run_sync(_applied_revisions)


def _applied_revisions(connection: Connection) -> set[str]:
    if not inspect(connection).has_table(_VERSION_TABLE):
        return set()
    return set(connection.execute(text(f"SELECT version_num FROM {_VERSION_TABLE}")).scalars())  # noqa: S608 (names of our own tables only)


def _upgrade(connection: Connection, name: str) -> None:
    if problem := _unknown_revision(name, _applied_revisions(connection)):
        raise Conflict(f"The database {problem}.")
    config = alembic_config()
    config.attributes["connection"] = connection
    import_module("alembic.command").upgrade(config, "head")
    install_policies(connection)


def alembic_config() -> Any:
    config = import_module("alembic.config").Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    return config
