"""The database: one engine for SQLite or PostgreSQL, and the sessions on it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from types import TracebackType
from typing import Any, Protocol

import orjson
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, Engine, ExceptionContext, make_url
from sqlalchemy.exc import (
    DisconnectionError,
)
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from wattgate.db.column_types import new_id
from wattgate.db.connections.engine_errors import database_unavailable, translate_error, translate_errors, unavailable
from wattgate.db.connections.reader import DatabaseReader, PostgresqlReader, SqliteReader
from wattgate.db.connections.reading_pool import LentConnection, ReadingPool, is_alive, record_return
from wattgate.db.connections.scoped_connection import ROW_ROLE, PooledConnection, ScopedConnection
from wattgate.db.connections.sqlite_connection import connect_with_one_call, create_private_file
from wattgate.db.credential_changes import listen_to_changes, watch_credentials
from wattgate.db.encryption.key_ring import NO_KEYS, KeyRing
from wattgate.db.scope.row_scope import Scope, ScopeHolder, owner_of
from wattgate.db.scope.tenancy_guard import check_tenant_scope
from wattgate.db.unfinished_records import listen_to_ends
from wattgate.requests.fair_share import NO_OWNER, FairShare, NoFreeSlot
from wattgate.tracer import NOOP_TRACER, Tracer
from wattgate.values.stored_json import encode_stored

log = logging.getLogger(__name__)

SQLITE_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA secure_delete=ON",  # an erased value must not stay in free parts of the file
    "PRAGMA busy_timeout=10000",
    "PRAGMA cache_size=-65536",
)

WITHOUT_TRANSACTION_OPTION = "without_transaction"
"""The execution option of read-only connections. To set SQLite's isolation level instead takes extra statements."""

RESERVED_PART = 4
"""One application leaves at least the fourth part of the connections to others."""

MAX_WAIT_SECONDS = 30.0
"""Maximum time for which a session or a reader waits for a connection."""

_DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "postgres": "postgresql+asyncpg",
    "postgresql": "postgresql+asyncpg",
}


_SQLITE_OPTIONS = {"connect_args": {"async_creator_fn": connect_with_one_call}}


def _with_driver(url: URL) -> URL:
    return url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))


class ReadReplica(Protocol):
    """A second server for readers, see `db.connections.replica`."""

    @property
    def sync_engines(self) -> list[Engine]:
        """The engines of SQLAlchemy that execute the statements."""

    def reader(self, scope: Scope) -> AbstractAsyncContextManager[DatabaseReader]:
        """Open a reader that sees all changes of this moment."""

    async def close(self) -> None:
        """Close the connections."""


class Database:
    """The engine and its sessions.

    `engine` uses transactions. `autocommit_engine` shares its connection pool. On PostgreSQL `autocommit_engine` has
    no transactions: each statement commits, and a checkout from the pool sets no option of the connection.

    `shares` bounds the connections that sessions and readers of one application have at a time. The others stay free
    for other applications.

    `url` is an SQLAlchemy URL of SQLite or PostgreSQL. If it names no driver, the asyncio driver is used. `key_ring`
    encrypts the stored secrets. With `has_transaction_pooler`, nothing needs a session of the server. Sessions and
    readers wait for a connection for at most `max_wait_seconds`.
    """

    replica: ReadReplica | None = None

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 10,
        tracer: Tracer = NOOP_TRACER,
        key_ring: KeyRing = NO_KEYS,
        has_transaction_pooler: bool = False,
        max_wait_seconds: float = MAX_WAIT_SECONDS,
    ) -> None:
        self.url = parsed = _with_driver(make_url(url))
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        self.key_ring = key_ring
        self.pool_size = pool_size
        self.instance_id = new_id()
        """Identifies this process among those that use the database."""
        self.has_transaction_pooler = has_transaction_pooler
        self.on_credentials_changed: Callable[[], None] = _ignore
        """Called when a session has changed credentials, before its commit returns."""
        self._tracer = tracer
        share = pool_size - pool_size // RESERVED_PART
        self.shares = FairShare(pool_size, share=share, max_wait_seconds=max_wait_seconds)
        self.autocommit_engine: AsyncEngine = create_async_engine(
            parsed,
            **(_SQLITE_OPTIONS if self.is_sqlite else _postgresql_options(has_transaction_pooler)),
            json_serializer=encode_stored,
            json_deserializer=_load_json,
            poolclass=ReadingPool,
            pool_size=pool_size,
            pool_use_lifo=True,  # the connection that was used last needs no ping and has its statements prepared
            max_overflow=0,  # it costs less to wait for a connection than to open an extra one
            hide_parameters=True,  # errors are logged, and parameters contain personal data
        )
        self.engine = (
            self.autocommit_engine
            if self.is_sqlite
            else self.autocommit_engine.execution_options(isolation_level="READ COMMITTED")
        )
        self.reader_engine = self.autocommit_engine.execution_options(**{WITHOUT_TRANSACTION_OPTION: True})
        """The engine of the statements that readers execute with SQLAlchemy."""
        sync_engine = self.autocommit_engine.sync_engine
        if self.is_sqlite:
            event.listen(sync_engine, "do_connect", create_private_file)
            event.listen(sync_engine, "connect", _prepare_sqlite)
            event.listen(sync_engine, "begin", _begin_sqlite)
            event.listen(sync_engine, "handle_error", _abort_cancelled_sqlite)
        else:
            event.listen(sync_engine, "connect", _prepare_postgresql)
            event.listen(sync_engine, "checkin", _record_checkin)
            event.listen(sync_engine, "checkout", _ping_connection)

    @asynccontextmanager
    async def session(self, scope: Scope) -> AsyncIterator[AsyncSession]:
        """Open a session with a transaction. It is rolled back unless the caller commits it.

        On PostgreSQL, policies restrict its statements to the rows of the scope.

        Only `Runner` and modules of `db` open sessions. Errors of the database are raised as a GatewayError, such as
        Unavailable if the database cannot be reached.

        On SQLite the session takes the write lock immediately, because two transactions that begin as readers cannot
        both become writers. If the task is cancelled, its statement is interrupted.
        """
        async with (
            self._connection_slot(owner_of(scope)),
            AsyncSession(self.engine, expire_on_commit=False, sync_session_class=_GuardedSession) as session,
        ):
            session.info["scope"] = ScopeHolder(scope)
            watch_credentials(session, self.on_credentials_changed)
            await session.connection()
            yield session

    def reader(self, scope: Scope) -> AbstractAsyncContextManager[DatabaseReader]:
        """Open a read-only session without a transaction, restricted to the rows of the scope as in `session`.

        Each statement sees the committed data, as in a READ COMMITTED transaction. Without BEGIN and the end of the
        transaction, two round trips to the server are saved. Errors are raised as in `session`.
        """
        return OpenReader(self, scope)

    def query_reader(self, scope: Scope) -> AbstractAsyncContextManager[DatabaseReader]:
        """Open a reader as `reader` does: on the read replica if it has all changes of this moment."""
        return self.reader(scope) if self.replica is None else self.replica.reader(scope)

    async def borrow_connection(self, holder: ScopeHolder | None) -> LentConnection:
        """Return a connection of the pool without SQLAlchemy's wrapper.

        The wrapper would translate the driver's errors, so they are translated here.
        """
        pool: Any = self.autocommit_engine.sync_engine.pool  # a ReadingPool; the asyncio engine takes more calls
        owner = NO_OWNER if holder is None else owner_of(holder.scope)
        if not self.shares.try_take(owner):
            await self._wait_for_slot(owner)
        try:
            connection: LentConnection = await pool.lend(holder)
        except self.autocommit_engine.dialect.loaded_dbapi.Error as error:
            self.shares.give_back(owner)
            raise database_unavailable(error) from error
        except BaseException:
            self.shares.give_back(owner)
            raise
        connection.on_close = partial(self.shares.give_back, owner)
        return connection

    @asynccontextmanager
    async def _connection_slot(self, owner: str) -> AsyncIterator[None]:
        """Hold a slot for a connection, and translate errors of the database."""
        if not self.shares.try_take(owner):
            await self._wait_for_slot(owner)
        try:
            with translate_errors():
                yield
        finally:
            self.shares.give_back(owner)

    async def _wait_for_slot(self, owner: str) -> None:
        """Wait for a slot for a connection. Raise Unavailable if none is free in time."""
        try:
            await self.shares.take(owner)
        except NoFreeSlot:
            log.warning(
                "No connection of the pool was free for application %s in %g s.",
                owner or "-",
                self.shares.max_wait_seconds,
            )
            raise unavailable() from None

    def build_reader(self, connection: LentConnection, holder: ScopeHolder) -> DatabaseReader:
        """Return a reader on a borrowed connection."""
        reader_class = SqliteReader if self.is_sqlite else PostgresqlReader
        return reader_class(self.reader_engine, connection, self._tracer, holder)

    async def lacks_row_security(self) -> bool:
        """Return whether this is PostgreSQL without policies that restrict the statements."""
        return not self.is_sqlite and not await self.has_row_security()

    async def has_row_security(self) -> bool:
        """Return whether the policies of PostgreSQL restrict the statements of sessions and readers."""
        if self.is_sqlite:
            return False
        with translate_errors():
            connection = await self.borrow_connection(None)
            try:
                return bool(connection.driver.row_role == ROW_ROLE)
            finally:
                connection.close()

    async def clear_log(self) -> None:
        """Copy the write-ahead log of SQLite into the database and empty it, unless a reader still needs it."""
        if self.is_sqlite:
            with translate_errors():
                async with self.reader_engine.connect() as connection:
                    await connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    @property
    def sync_engines(self) -> list[Engine]:
        """The engines of SQLAlchemy that execute the statements."""
        engines = [self.autocommit_engine.sync_engine]
        return engines if self.replica is None else [*engines, *self.replica.sync_engines]

    async def close(self) -> None:
        await self.autocommit_engine.dispose()
        if self.replica is not None:
            await self.replica.close()


class OpenReader:
    """The context manager of a reader. A class takes less time than generators do, and each edge opens a reader."""

    __slots__ = ("_connection", "_database", "_holder")

    def __init__(self, database: Database, scope: Scope) -> None:
        self._database = database
        self._holder = ScopeHolder(scope)
        self._connection: LentConnection | None = None

    async def __aenter__(self) -> DatabaseReader:
        try:
            self._connection = await self._database.borrow_connection(self._holder)
        except Exception as error:
            if (translated := translate_error(error)) is None:
                raise
            raise translated from error
        return self._database.build_reader(self._connection, self._holder)

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._connection is not None
        self._connection.close()
        if isinstance(error, Exception) and (translated := translate_error(error)) is not None:
            raise translated from error


class _GuardedSession(Session):
    """The session class that has the tenancy guard. Other users of SQLAlchemy in the process are not affected."""


def _apply_scope(session: Session, transaction: Any, connection: Connection) -> None:
    """Restrict the statements of a transaction to the scope of its session, which sets the role on PostgreSQL."""
    if connection.dialect.name == "postgresql":
        driver = connection.connection.driver_connection
        assert isinstance(driver, ScopedConnection)
        driver.scope_holder = session.info["scope"]


event.listen(_GuardedSession, "do_orm_execute", check_tenant_scope)
event.listen(_GuardedSession, "after_begin", _apply_scope)
listen_to_changes(_GuardedSession)
listen_to_ends(_GuardedSession)


def _ignore() -> None:
    return


def _postgresql_options(has_transaction_pooler: bool) -> dict[str, Any]:
    connection_class = PooledConnection if has_transaction_pooler else ScopedConnection
    return {"isolation_level": "AUTOCOMMIT", "connect_args": {"connection_class": connection_class}}


def _load_json(stored: Any) -> Any:
    """Return a stored JSON value. SQLite returns a JSON text that is a number as a number."""
    return orjson.loads(stored) if isinstance(stored, str | bytes) else stored


def _prepare_sqlite(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # the "begin" listener starts transactions, not the driver
    cursor = connection.cursor()
    for pragma in SQLITE_PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    if not connection.get_execution_options().get(WITHOUT_TRANSACTION_OPTION):
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _abort_cancelled_sqlite(context: ExceptionContext) -> None:
    """Interrupt the statement of a cancelled task and roll back. asyncpg does so itself.

    SQLite's thread would otherwise complete the statement. To close the connection does not suffice: SQLite keeps the
    transaction and its write lock while the cursor exists. Closing the cursor also ends the interruption.
    """
    if isinstance(context.original_exception, asyncio.CancelledError) and context.connection is not None:
        adapted: Any = context.connection.connection.dbapi_connection
        adapted.run_async(lambda connection: connection.interrupt())
        if context.execution_context is not None:
            context.execution_context.cursor.close()
        adapted.run_async(lambda connection: connection.rollback())


def _prepare_postgresql(connection: Any, record: Any) -> None:
    connection.run_async(lambda driver: driver.prepare_scope())


def _record_checkin(connection: Any, record: Any) -> None:
    record_return(record, record.driver_connection)


def _ping_connection(connection: Any, record: Any, proxy: Any) -> None:
    """Raise DisconnectionError for a dead connection, so that the pool replaces it."""
    unused_since = record.info.get("since")
    if not connection.run_async(lambda driver: is_alive(driver, unused_since)):
        raise DisconnectionError
