"""The pool of connections, which lends them to readers at a low cost.

SQLAlchemy takes about 65 µs of processor time to lend a connection and take it back: a greenlet, a wrapper with a
finalizer, events, a reset. A reader needs none of that, because it has no transaction that would have to be reset. So
it takes the entry of the pool itself. There is one queue: readers and sessions share the connections, their limit, the
waiting and the timeout, and an idle connection is always in the queue.

`_pool`, `_do_get`, `_do_return_conn` and `_is_hard_or_soft_invalidated` are parts of SQLAlchemy's own pools,
`_transaction` and `_start_transaction` of its connections to PostgreSQL. SQLAlchemy does not document them, so it is
limited to version 2.1, and `tests/test_dependency_internals.py` fails if they change.
"""

import time
from collections.abc import Callable
from typing import Any

import asyncpg
from sqlalchemy.pool import AsyncAdaptedQueuePool, ConnectionPoolEntry, PoolProxiedConnection
from sqlalchemy.util import greenlet_spawn

from wattgate.db.connections.scoped_connection import NO_LOCKS, ScopedConnection
from wattgate.db.scope.row_scope import ScopeHolder

PING_AFTER_SECONDS = 1.0
"""A connection that was unused for this many seconds is pinged before use."""


class LentConnection(PoolProxiedConnection):
    """A connection of the pool until `close` returns it. SQLAlchemy can execute statements on it, as on its own."""

    __slots__ = ("_entry", "_pool", "dbapi_connection", "driver_connection", "on_close")

    def __init__(self, pool: "ReadingPool", entry: Any, driver: Any) -> None:
        self._pool = pool
        self._entry = entry
        self.on_close: Callable[[], None] | None = None
        """Called after the connection was returned."""
        self.dbapi_connection: Any = entry.dbapi_connection
        self.driver_connection = driver

    @property
    def driver(self) -> Any:
        """The connection of the driver. Raise InterfaceError if it has ended or was returned."""
        if self.driver_connection is None:
            raise asyncpg.InterfaceError("the connection has ended")
        return self.driver_connection

    @property
    def is_valid(self) -> bool:
        return self.dbapi_connection is not None

    @property
    def is_detached(self) -> bool:
        return False

    @property
    def info(self) -> Any:
        return self._entry.info

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dbapi_connection, name)

    def invalidate(self, e: BaseException | None = None, soft: bool = False) -> None:
        """End the connection. The pool opens another one for the next caller."""
        self.dbapi_connection = self.driver_connection = None
        if self._entry is not None:
            self._entry.invalidate(e)

    def close(self) -> None:
        """Return the connection to its pool. It cannot be used afterwards."""
        entry, driver = self._entry, self.driver_connection
        self._entry = self.dbapi_connection = self.driver_connection = None
        if entry is not None:
            self._pool.take_back(entry, driver)
            if self.on_close is not None:
                self.on_close()


class ReadingPool(AsyncAdaptedQueuePool):
    """SQLAlchemy's pool, which also lends connections without SQLAlchemy's wrapper."""

    _is_disposed = False

    async def lend(self, holder: ScopeHolder | None) -> LentConnection:
        """Return a connection whose statements run in the scope of the holder, if there is one.

        Errors of the driver are raised as they are.
        """
        entry: Any = self._pool.get_nowait() if self.checkedin() else await greenlet_spawn(self._do_get)
        try:
            if not await _is_usable(entry):
                entry.invalidate()
                await greenlet_spawn(entry.get_connection)
            driver = entry.driver_connection
        except BaseException:
            self._do_return_conn(entry)
            raise
        if isinstance(driver, ScopedConnection):
            driver.scope_holder = holder
        return LentConnection(self, entry, driver)

    def take_back(self, entry: ConnectionPoolEntry, driver: Any) -> None:
        """Take back what `lend` has lent. The next caller gets it."""
        record_return(entry, driver)
        self._do_return_conn(entry)

    def dispose(self) -> None:
        """Close the idle connections. Each one in use is closed when it is returned."""
        self._is_disposed = True
        super().dispose()

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        if self._is_disposed:
            record.invalidate()
        super()._do_return_conn(record)


def record_return(entry: ConnectionPoolEntry, driver: Any) -> None:
    """Record when an entry returns to the pool, and end the scope of its connection."""
    entry.info["since"] = time.monotonic()
    if isinstance(driver, ScopedConnection):
        driver.scope_holder, driver.next_locks = None, NO_LOCKS


async def _is_usable(entry: Any) -> bool:
    """Return whether a connection of the pool can be used. Pools of SQLite need not ask."""
    driver = entry.driver_connection
    if driver is None or entry._is_hard_or_soft_invalidated():
        return False
    return not isinstance(driver, ScopedConnection) or await is_alive(driver, entry.info.get("since"))


async def is_alive(driver: ScopedConnection, unused_since: float | None) -> bool:
    """Return whether a connection of PostgreSQL can be used. The driver knows if the server has closed it.

    A ping is sent only after a longer time without use: under load that is milliseconds, and a ping for each use would
    double the round trips. A new connection has no `unused_since`.
    """
    if driver.is_closed():
        return False
    if _was_just_used(unused_since):
        return True
    try:
        await driver.execute("SELECT 1")
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        return False
    return True


def _was_just_used(unused_since: float | None) -> bool:
    return unused_since is None or time.monotonic() - unused_since < PING_AFTER_SECONDS


async def begin_transaction(connection: Any) -> None:
    """Begin the transaction of a connection of SQLAlchemy to PostgreSQL, unless it has begun.

    SQLAlchemy begins it with the first statement that it executes itself. That takes 100 µs more than the driver does.
    """
    if connection._transaction is not None:
        return
    try:
        await connection._start_transaction()
    except connection.dbapi.Error as error:
        raise error.__cause__ or error from None  # the error of the driver, as its statements raise it
