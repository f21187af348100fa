"""Databases with the current schema. Migrations run once for each engine; tests use copies of the result."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.engine import make_url

from tests.support.filled_databases import can_copy, copy_filled
from tests.support.servers import connected, database_on
from wattgate.db.connections.engine import Database
from wattgate.db.migrate import upgrade


async def bring_up_url(url: str) -> None:
    """Upgrade the database with this URL to the current schema, as `bring_up` does."""
    async with connected(url) as database:
        await bring_up(database)


async def bring_up(database: Database) -> None:
    """Upgrade a database to the current schema. A SQLite file that does not exist starts as a copy."""
    if database.is_sqlite and can_copy(database.url):
        await copy_filled(database.url, ["schema"], _upgrade)
    else:
        await upgrade(database)


@asynccontextmanager
async def pattern_on(server_url: str) -> AsyncIterator[str]:
    """Yield the name of a template database on a PostgreSQL server, with the current schema."""
    async with database_on(server_url) as url:
        await _upgrade(url)
        yield str(make_url(url).database)


async def _upgrade(url: str) -> None:
    async with connected(url) as database:
        await upgrade(database)
