"""The database for the time of a command that runs no operations."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import typer
from sqlalchemy.engine import make_url

from wattgate.app.cli.consoles import err
from wattgate.app.cli.database_failures import database_failures_reported
from wattgate.app.erasure_list import open_erasure_list
from wattgate.app.secret_keys import KEYS_REQUIRED, load_key_ring
from wattgate.app.server.database import create_database
from wattgate.app.setting_sources import ENV_FILE
from wattgate.app.settings import Settings
from wattgate.db.connections.database_name import sqlite_file
from wattgate.db.connections.engine import Database
from wattgate.db.connections.pooler import find_pooler_problem
from wattgate.db.connections.replica import read_replica_state
from wattgate.db.connections.server_state import read_server_state
from wattgate.db.key_rotation import verify_keys
from wattgate.db.migrate import find_schema_problem
from wattgate.db.personal_data.erasure_check import verify_erasures
from wattgate.errors import Conflict

T = TypeVar("T")


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a new event loop and return its result."""
    return asyncio.run(work)


async def with_database(
    settings: Settings, work: Callable[[Database], Awaitable[T]], *, creates_keys: bool = True
) -> T:
    """Run `work` with the database, then close it. With `creates_keys`, SQLite gets a key file if it has none.

    Raise Unavailable, with what to check, if the database cannot be used.
    """
    with database_failures_reported(settings):
        database = create_database(settings, creates_keys=creates_keys)
        try:
            return await work(database)
        finally:
            await database.close()


DEMO_FOLDER = Path(".wattgate")
"""Folder of the database of the demonstration, with its settings."""


def require_existing(settings: Settings) -> None:
    """Raise Conflict if the database is an SQLite file that does not exist: to open it would create an empty one."""
    file = sqlite_file(make_url(settings.database_url))
    if file is None or file.exists():
        return
    folder = "the folder of the gateway, where its .env is"
    if (DEMO_FOLDER / ENV_FILE).exists():
        folder += f", or in {DEMO_FOLDER.resolve()} for the demonstration"
    raise Conflict(
        f"The database {file.resolve()} does not exist. Run the command in {folder}, or set WATTGATE_DATABASE_URL. "
        "`wattgate db upgrade` creates a database."
    )


def require_keys(settings: Settings) -> None:
    """Exit with status 2 and a message if the settings have no key that encrypts stored secrets."""
    if not load_key_ring(settings).key_ids:
        err.print(KEYS_REQUIRED)
        raise typer.Exit(2)


def require_ready_database(settings: Settings) -> None:
    """Exit with a message unless the database accepts changes, has this version's schema, and the keys fit.

    It must also have all erasures of the list outside the database.
    """
    require_existing(settings)
    require_keys(settings)

    async def find_problem(database: Database) -> str | None:
        problem = await find_pooler_problem(database)
        if problem is None:
            server = await read_server_state(database)
            problem = (server and server.write_problem) or await find_schema_problem(database)
        if problem is not None:
            return f"The database {problem}"
        await verify_keys(database)
        await verify_erasures(database, open_erasure_list(settings))
        replica = await read_replica_state(database)
        return f"The read replica {replica.error}" if replica is not None and replica.error else None

    if problem := run_async(with_database(settings, find_problem)):
        err.print(f"{problem}.", highlight=False, soft_wrap=True)
        raise typer.Exit(1)
