"""Databases at this version's schema: migrations run once for each engine, and what they made is copied."""

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
    """Bring a database to this version's schema. The file of one of SQLite that is not there yet is a copy."""
    if database.is_sqlite:
        await asyncio.to_thread(_copy_pattern, Path(str(database.url.database)))
    await upgrade(database)


@asynccontextmanager
async def pattern_on(server_url: str) -> AsyncIterator[str]:
    """The name of a database on a PostgreSQL server of which others are copies."""
    async with database_on(server_url) as url:
        await _upgrade(url)
        yield str(make_url(url).database)


def _copy_pattern(path: Path) -> None:
    if not path.exists():
        copyfile(Path(_pattern_folder().name) / "pattern.sqlite3", path)


@cache
def _pattern_folder() -> TemporaryDirectory[str]:
    """A folder with the file of a database that nobody works on."""
    directory = TemporaryDirectory(prefix="wattgate-")
    asyncio.run(_upgrade(f"sqlite:///{directory.name}/pattern.sqlite3"))
    return directory


async def _upgrade(url: str) -> None:
    database = Database(url)
    try:
        await upgrade(database)
    finally:
        await database.close()
