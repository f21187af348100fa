"""Databases with the current schema. Migrations run once for each engine; tests use copies of the result."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory

from sqlalchemy.engine import make_url

from tests.support.servers import database_on
from wattgate.db.engine import Database
from wattgate.db.migrate import upgrade


async def bring_up(database: Database) -> None:
    """Upgrade a database to the current schema. A SQLite file that does not exist starts as a copy."""
    if database.is_sqlite:
        await asyncio.to_thread(_copy_pattern, Path(str(database.url.database)))
    await upgrade(database)


@asynccontextmanager
async def pattern_on(server_url: str) -> AsyncIterator[str]:
    """Yield the name of a template database on a PostgreSQL server, with the current schema."""
    async with database_on(server_url) as url:
        await _upgrade(url)
        yield str(make_url(url).database)


def _copy_pattern(path: Path) -> None:
    if not path.exists():
        copyfile(Path(_pattern_folder().name) / "pattern.sqlite3", path)


@cache
def _pattern_folder() -> TemporaryDirectory[str]:
    """Return a folder with the SQLite file that tests copy."""
    directory = TemporaryDirectory(prefix="wattgate-")
    asyncio.run(_upgrade(f"sqlite:///{directory.name}/pattern.sqlite3"))
    return directory


async def _upgrade(url: str) -> None:
    database = Database(url)
    try:
        await upgrade(database)
    finally:
        await database.close()
