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

from wattgate.db.reader import DatabaseReader, PostgresqlReader, SqliteReader
from wattgate.db.tenancy_guard import check_tenant_scope
from wattgate.errors import BadInput, Conflict, Unavailable
from wattgate.tracer import NOOP_TRACER, Tracer

log = logging.getLogger(__name__)

SQLITE_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA busy_timeout=10000",
    "PRAGMA cache_size=-65536",
)

WITHOUT_TRANSACTION_OPTION = "without_transaction"
"""The execution option of connections that only read; SQLite's isolation level would be set by further statements."""

PING_AFTER_SECONDS = 1.0
"""Seconds after which a connection is asked whether it is still there."""

UNAVAILABLE_SQLSTATE_CLASSES = ("08", "53", "57")
"""Classes of SQLSTATE: connection, insufficient resources, operator intervention."""

UNAVAILABLE_DRIVER_ERRORS = (asyncpg.InterfaceError, sqlite3.OperationalError, sqlite3.InterfaceError)
"""Errors of the drivers themselves that say that the database is away."""

DATA_EXCEPTION_SQLSTATE_CLASS = "22"
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

    def __init__(self, url: str, *, pool_size: int = 10, tracer: Tracer = NOOP_TRACER) -> None:
        parsed = make_url(url)
        parsed = parsed.set(drivername=_DRIVERS.get(parsed.drivername, parsed.drivername))
        self.url = parsed
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        self._tracer = tracer
        self.autocommit_engine: AsyncEngine = create_async_engine(
            parsed,
            **({} if self.is_sqlite else {"isolation_level": "AUTOCOMMIT"}),
            json_serializer=lambda value: orjson.dumps(value).decode(),
            json_deserializer=_load_json,
            pool_size=pool_size,
            max_overflow=0,  # connections that come and go cost more than waiting for one
            hide_parameters=True,  # errors are logged, and the values are of people
        )
        self.engine = (
            self.autocommit_engine
            if self.is_sqlite
            else self.autocommit_engine.execution_options(isolation_level="READ COMMITTED")
        )
        self._reader_engine = self.autocommit_engine.execution_options(**{WITHOUT_TRANSACTION_OPTION: True})
        sync_engine = self.autocommit_engine.sync_engine
        if self.is_sqlite:
            event.listen(sync_engine, "connect", _prepare_sqlite)
            event.listen(sync_engine, "begin", _begin_sqlite)
            event.listen(sync_engine, "handle_error", _interrupt_sqlite)
        else:
            event.listen(sync_engine, "checkin", _record_checkin)
            event.listen(sync_engine, "checkout", partial(_ping_connection, sync_engine.dialect))

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AsyncSession]:
        """A session that ends with a rollback unless it was committed. Only `Runner` and `db` open one.

        What goes wrong with the database is told as a GatewayError: Unavailable where it is away.

        On SQLite it takes the write lock at once: two that began as readers could not both become writers. The
        statement of a session whose task is cancelled ends at once.
        """
        with _translate_errors():
            async with AsyncSession(self.engine, expire_on_commit=False, sync_session_class=_GuardedSession) as session:
                await session.connection()
                yield session

    @asynccontextmanager
    async def reader(self) -> AsyncIterator[DatabaseReader]:
        """The same for what changes nothing, without a transaction: each statement sees what is committed, as it would
        within one (READ COMMITTED), and two ways to the server and back are saved.
        """
        with _translate_errors():
            if self.is_sqlite:
                async with self._reader_engine.connect() as connection:
                    yield SqliteReader(connection, self._tracer)
            else:
                pool_connection = await self._acquire_connection()
                try:
                    yield PostgresqlReader(self.autocommit_engine, pool_connection, self._tracer)
                finally:
                    pool_connection.close()

    async def _acquire_connection(self) -> PoolProxiedConnection:
        """A connection of the pool, without SQLAlchemy's own around it, which would tell why there is none."""
        try:
            return await self.autocommit_engine.raw_connection()
        except self.autocommit_engine.dialect.loaded_dbapi.Error as error:
            raise _database_unavailable(error) from error

    async def close(self) -> None:
        await self.autocommit_engine.dispose()


class _GuardedSession(Session):
    """Our sessions alone carry the guard, so that SQLAlchemy elsewhere in the process is left alone."""


event.listen(_GuardedSession, "do_orm_execute", check_tenant_scope)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Tells errors of the database as ours."""
    try:
        yield
    except IntegrityError as error:
        log.info("the database refused a change: %s", error.orig)
        raise Conflict("the record stands against others: it exists already, or something refers to it") from error
    except (DataError, sqlite3.DataError) as error:
        raise BadInput("a value cannot be stored") from error
    except (OperationalError, InterfaceError, *UNAVAILABLE_DRIVER_ERRORS, TimeoutError, OSError) as error:
        raise _database_unavailable(error) from error
    except (DBAPIError, asyncpg.PostgresError) as error:
        if _sqlstate_of(error).startswith(DATA_EXCEPTION_SQLSTATE_CLASS):
            raise BadInput("a value cannot be stored") from error
        invalidated = isinstance(error, DBAPIError) and error.connection_invalidated
        if not invalidated and not _sqlstate_of(error).startswith(UNAVAILABLE_SQLSTATE_CLASSES):
            raise
        raise _database_unavailable(error) from error


def _database_unavailable(error: Exception) -> Unavailable:
    log.warning("the database is away: %r", error)
    return Unavailable("the database is away for the moment", retry_after=1)


def _sqlstate_of(error: DBAPIError | asyncpg.PostgresError) -> str:
    """The SQLSTATE that PostgreSQL gives to an error; empty where there is none."""
    return getattr(error.orig if isinstance(error, DBAPIError) else error, "sqlstate", None) or ""


def _load_json(stored: Any) -> Any:
    """A stored JSON value. SQLite keeps a text that is a number as that number."""
    return orjson.loads(stored) if isinstance(stored, str | bytes) else stored


def _prepare_sqlite(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say, not before the first write
    cursor = connection.cursor()
    for pragma in SQLITE_PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    if not connection.get_execution_options().get(WITHOUT_TRANSACTION_OPTION):
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _interrupt_sqlite(context: ExceptionContext) -> None:
    """End the statement of a task that is cancelled; asyncpg does so by itself, and SQLite's thread would go on."""
    if isinstance(context.original_exception, asyncio.CancelledError) and context.connection is not None:
        adapted: Any = context.connection.connection.dbapi_connection
        adapted.run_async(lambda connection: connection.interrupt())


def _record_checkin(connection: Any, record: Any) -> None:
    record.info["since"] = time.monotonic()


def _ping_connection(dialect: Dialect, connection: Any, record: Any, proxy: Any) -> None:
    """Make sure of a connection; the pool replaces one that is dead.

    What the server has closed is known to be so. Only one that has not been used for a while is asked: under load
    connections rest for milliseconds, so that no question goes twice to the server.
    """
    if record.driver_connection.is_closed():
        raise DisconnectionError
    if time.monotonic() - record.info.get("since", math.inf) < PING_AFTER_SECONDS:
        return
    try:
        alive = dialect.do_ping(connection)
    except dialect.loaded_dbapi.Error as error:
        raise DisconnectionError from error
    if not alive:
        raise DisconnectionError
