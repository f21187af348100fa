"""The database: one engine for SQLite or PostgreSQL, and the sessions on it."""

import asyncio
import logging
import math
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

import asyncpg
import orjson
from sqlalchemy import event
from sqlalchemy.engine import Connection, Dialect, ExceptionContext, make_url
from sqlalchemy.exc import (
    DataError,
    DBAPIError,
    DisconnectionError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    TimeoutError,
)
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import PoolProxiedConnection

from wattgate.db.reader import PostgresqlReader, Reader, SqliteReader
from wattgate.db.tenancy_guard import guard
from wattgate.errors import BadInput, Conflict, Unavailable
from wattgate.tracer import NO_SPANS, Spans

log = logging.getLogger(__name__)

SQLITE_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA busy_timeout=10000",
    "PRAGMA cache_size=-65536",
)

WITHOUT_TRANSACTION = "without_transaction"
"""The execution option of connections that only read; SQLite's isolation level would be set by further statements."""

RESTED = 1.0
"""Seconds after which a connection is asked whether it is still there."""

SERVERS_FAULTS = ("08", "53", "57")
"""Classes of SQLSTATE: connection, insufficient resources, operator intervention."""

DRIVERS_FAULTS = (asyncpg.InterfaceError, sqlite3.OperationalError, sqlite3.InterfaceError)
"""Errors of the drivers themselves that say that the database is away."""

DATA_EXCEPTIONS = "22"
"""The class of SQLSTATE for values that cannot be: a text with U+0000 is one."""

_DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "postgres": "postgresql+asyncpg",
    "postgresql": "postgresql+asyncpg",
}


class Database:
    """The engine and its sessions.

    `engine` has transactions, which are begun and committed. `pooled`, whose connections it shares, has none on
    PostgreSQL: each statement is one, and nothing is to be set when a connection is taken.

    `url` is an SQLAlchemy URL of SQLite or PostgreSQL; the asyncio driver is chosen where none is named.
    """

    def __init__(self, url: str, *, pool_size: int = 10, spans: Spans = NO_SPANS) -> None:
        parsed = make_url(url)
        parsed = parsed.set(drivername=_DRIVERS.get(parsed.drivername, parsed.drivername))
        self.url = parsed
        self.sqlite = parsed.get_backend_name() == "sqlite"
        self._spans = spans
        self.pooled: AsyncEngine = create_async_engine(
            parsed,
            **({} if self.sqlite else {"isolation_level": "AUTOCOMMIT"}),
            json_serializer=lambda value: orjson.dumps(value).decode(),
            json_deserializer=_json,
            pool_size=pool_size,
            max_overflow=0,  # connections that come and go cost more than waiting for one
            hide_parameters=True,  # errors are logged, and the values are of people
        )
        self.engine = self.pooled if self.sqlite else self.pooled.execution_options(isolation_level="READ COMMITTED")
        self._reading = self.pooled.execution_options(**{WITHOUT_TRANSACTION: True})
        sync = self.pooled.sync_engine
        if self.sqlite:
            event.listen(sync, "connect", _prepare_sqlite)
            event.listen(sync, "begin", _begin_sqlite)
            event.listen(sync, "handle_error", _interrupt_sqlite)
        else:
            event.listen(sync, "checkin", _rested)
            event.listen(sync, "checkout", partial(_ping, sync.dialect))

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AsyncSession]:
        """A session that ends with a rollback unless it was committed. Only `Runner` and `db` open one.

        What goes wrong with the database is told as a GatewayError: Unavailable where it is away.

        On SQLite it takes the write lock at once: two that began as readers could not both become writers. The
        statement of a session whose task is cancelled ends at once.
        """
        with _told():
            async with AsyncSession(self.engine, expire_on_commit=False, sync_session_class=_Session) as session:
                await session.connection()
                yield session

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Reader]:
        """The same for what changes nothing, without a transaction: each statement sees what is committed, as it would
        within one (READ COMMITTED), and two ways to the server and back are saved.
        """
        with _told():
            if self.sqlite:
                async with self._reading.connect() as connection:
                    yield SqliteReader(connection, self._spans)
            else:
                held = await self._held()
                try:
                    yield PostgresqlReader(self.pooled, held, self._spans)
                finally:
                    held.close()

    async def _held(self) -> PoolProxiedConnection:
        """A connection of the pool, without SQLAlchemy's own around it, which would tell why there is none."""
        try:
            return await self.pooled.raw_connection()
        except self.pooled.dialect.loaded_dbapi.Error as error:
            raise _away(error) from error

    async def close(self) -> None:
        await self.pooled.dispose()


class _Session(Session):
    """Our sessions alone carry the guard, so that SQLAlchemy elsewhere in the process is left alone."""


event.listen(_Session, "do_orm_execute", guard)


@contextmanager
def _told() -> Iterator[None]:
    """Tells errors of the database as ours."""
    try:
        yield
    except IntegrityError as error:
        log.info("the database refused a change: %s", error.orig)
        raise Conflict("the record stands against others: it exists already, or something refers to it") from error
    except (DataError, sqlite3.DataError) as error:
        raise BadInput("a value cannot be stored") from error
    except (OperationalError, InterfaceError, *DRIVERS_FAULTS, TimeoutError, OSError) as error:
        raise _away(error) from error
    except (DBAPIError, asyncpg.PostgresError) as error:
        if _state(error).startswith(DATA_EXCEPTIONS):
            raise BadInput("a value cannot be stored") from error
        invalidated = isinstance(error, DBAPIError) and error.connection_invalidated
        if not invalidated and not _state(error).startswith(SERVERS_FAULTS):
            raise
        raise _away(error) from error


def _away(error: Exception) -> Unavailable:
    log.warning("the database is away: %r", error)
    return Unavailable("the database is away for the moment", retry_after=1)


def _state(error: DBAPIError | asyncpg.PostgresError) -> str:
    """The SQLSTATE that PostgreSQL gives to an error; empty where there is none."""
    return getattr(error.orig if isinstance(error, DBAPIError) else error, "sqlstate", None) or ""


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
    if not connection.get_execution_options().get(WITHOUT_TRANSACTION):
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _interrupt_sqlite(context: ExceptionContext) -> None:
    """End the statement of a task that is cancelled; asyncpg does so by itself, and SQLite's thread would go on."""
    if isinstance(context.original_exception, asyncio.CancelledError) and context.connection is not None:
        adapted: Any = context.connection.connection.dbapi_connection
        adapted.run_async(lambda connection: connection.interrupt())


def _rested(connection: Any, record: Any) -> None:
    record.info["since"] = time.monotonic()


def _ping(dialect: Dialect, connection: Any, record: Any, proxy: Any) -> None:
    """Make sure of a connection; the pool replaces one that is dead.

    What the server has closed is known to be so. Only one that has not been used for a while is asked: under load
    connections rest for milliseconds, so that no question goes twice to the server.
    """
    if record.driver_connection.is_closed():
        raise DisconnectionError
    if time.monotonic() - record.info.get("since", math.inf) < RESTED:
        return
    try:
        alive = dialect.do_ping(connection)
    except dialect.loaded_dbapi.Error as error:
        raise DisconnectionError from error
    if not alive:
        raise DisconnectionError
