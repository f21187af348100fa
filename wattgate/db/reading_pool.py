"""The pool of PostgreSQL connections, which lends connections to readers at a low cost.

SQLAlchemy's pool takes about 65 µs of processor time to lend a connection and take it back: a greenlet, a record, a
wrapper, events, a reset. A reader needs none of that, because it has no transaction that would have to be reset. So a
connection that a reader returns stays on a stack, and the next reader takes it from there.

The stack belongs to the same pool: a connection on it still counts as lent, so the limit holds for readers and sessions
together. If somebody waits for a connection of the pool, a returned connection goes back there instead.
"""

import time
from typing import Any, cast

import asyncpg
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.pool import AsyncAdaptedQueuePool, ConnectionPoolEntry, PoolProxiedConnection

from wattgate.db.row_scope import ScopeHolder
from wattgate.db.scoped_connection import ScopedConnection

PING_AFTER_SECONDS = 1.0
"""A connection that was unused for this many seconds is pinged before use."""


class ReadingPool(AsyncAdaptedQueuePool):
    """A pool whose idle reading connections are on a stack."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._idle: list[tuple[PoolProxiedConnection, float]] = []
        self._waiting_count = 0

    def take(self) -> tuple[PoolProxiedConnection, float] | None:
        """Return the connection that was returned last, and the seconds since then. Return None if there is none."""
        if not self._idle:
            return None
        connection, since = self._idle.pop()
        return connection, time.monotonic() - since

    def put(self, connection: PoolProxiedConnection) -> None:
        """Keep a connection for the next reader, unless somebody waits for a connection of the pool."""
        if self._waiting_count:
            connection.close()
        else:
            self._idle.append((connection, time.monotonic()))

    def release_idle(self) -> None:
        """Return all idle reading connections to the pool."""
        while self._idle:
            self._idle.pop()[0].close()

    def checkedout(self) -> int:
        """Return the number of connections in use, without those on the stack."""
        return super().checkedout() - len(self._idle)

    def _do_get(self) -> ConnectionPoolEntry:
        if self._idle and super().checkedout() >= self.size():
            self._idle.pop(0)[0].close()
        self._waiting_count += 1
        try:
            return super()._do_get()
        finally:
            self._waiting_count -= 1


async def borrow(engine: AsyncEngine, holder: ScopeHolder | None) -> PoolProxiedConnection:
    """Return a connection whose statements run in the scope of the holder, if there is one."""
    connection = await _take_alive(cast(ReadingPool, engine.pool)) or await engine.raw_connection()
    driver_of(connection).scope_holder = holder
    return connection


async def _take_alive(pool: ReadingPool) -> PoolProxiedConnection | None:
    """Return an idle connection that can be used. Return None if there is none."""
    while idle := pool.take():
        connection, unused_seconds = idle
        driver = driver_of(connection)
        is_usable = False
        try:
            is_usable = await is_alive(driver, unused_seconds)
            if is_usable:
                return connection
            driver.terminate()
        finally:
            if not is_usable:  # it is dead, which the pool notices, or this task was cancelled
                connection.close()
    return None


def give_back(engine: AsyncEngine, connection: PoolProxiedConnection) -> None:
    """Return a connection that `borrow` returned."""
    if connection.driver_connection is None:  # an error has ended it
        connection.close()
        return
    driver_of(connection).scope_holder = None
    cast(ReadingPool, engine.pool).put(connection)


def driver_of(connection: PoolProxiedConnection) -> ScopedConnection:
    driver = connection.driver_connection
    assert isinstance(driver, ScopedConnection)
    return driver


async def is_alive(driver: ScopedConnection, unused_seconds: float) -> bool:
    """Return whether a connection can be used. The driver knows if the server has closed it.

    A ping is sent only after a longer time without use: under load that is milliseconds, and a ping for each use would
    double the round trips.
    """
    if driver.is_closed():
        return False
    if unused_seconds < PING_AFTER_SECONDS:
        return True
    try:
        await driver.execute("SELECT 1")
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        return False
    return True
