"""The database: one engine for SQLite or PostgreSQL, and the sessions on it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
from sqlalchemy import event
from sqlalchemy.engine import Connection, make_url
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from wattgate.db.guard import refuse_unscoped

SQLITE_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA busy_timeout=10000",
    "PRAGMA cache_size=-65536",
)

_DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "postgres": "postgresql+asyncpg",
    "postgresql": "postgresql+asyncpg",
}


class Database:
    """The engine and its sessions.

    `url` is an SQLAlchemy URL of SQLite or PostgreSQL; the asyncio driver is chosen where none is named.
    """

    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        parsed = make_url(url)
        parsed = parsed.set(drivername=_DRIVERS.get(parsed.drivername, parsed.drivername))
        self.url = parsed
        self.sqlite = parsed.get_backend_name() == "sqlite"
        self.engine: AsyncEngine = create_async_engine(
            parsed,
            json_serializer=lambda value: orjson.dumps(value).decode(),
            json_deserializer=_json,
            pool_size=pool_size,
            pool_pre_ping=not self.sqlite,
        )
        if self.sqlite:
            event.listen(self.engine.sync_engine, "connect", _prepare_sqlite)
            event.listen(self.engine.sync_engine, "begin", _begin_sqlite)

    @asynccontextmanager
    async def session(self, *, write: bool) -> AsyncIterator[AsyncSession]:
        """A session that ends with a rollback unless it was committed. Only `Runner` and `db` open one.

        On SQLite a writing session takes the write lock at once: two that began as readers could not both
        become writers.
        """
        async with AsyncSession(self.engine, expire_on_commit=False, sync_session_class=_Session) as session:
            await session.connection(execution_options={"write": write})
            yield session

    async def close(self) -> None:
        await self.engine.dispose()


class _Session(Session):
    """Our sessions alone carry the guard, so that SQLAlchemy elsewhere in the process is left alone."""


event.listen(_Session, "do_orm_execute", refuse_unscoped)


def _json(stored: Any) -> Any:
    """A stored JSON value. SQLite keeps a text that is a number as that number."""
    return orjson.loads(stored) if isinstance(stored, str | bytes) else stored


def _prepare_sqlite(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say, not before the first write
    cursor = connection.cursor()
    for pragma in SQLITE_PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    write = connection.get_execution_options().get("write", True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
