"""Read queries from a streaming replica of PostgreSQL, without older data than the primary has.

Each reader first asks the primary for the end of its write-ahead log. Readers of one moment share this statement. A
connection to the replica is used as soon as the replica has replayed the log up to there. So a query sees each change
that was committed before it began, on any gateway: a caller's own write, a withdrawn consent, and the change behind a
live event.

    reader -> primary: position of the log?     (one small statement for all waiting readers)
           -> replica: replayed up to there?    (only if the connection does not know it yet)
           -> replica: the statements of the query

If the replica lags or does not answer, the reader uses the primary. The following readers do so for RETRY_SECONDS, then
one of them tries the replica again. A statement that fails on the replica runs on the primary. The timeline of both
servers has to be the same, so that a replica of the former primary is not used after a failover.

https://www.postgresql.org/docs/current/hot-standby.html
"""

import asyncio
import logging
import time
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple

import asyncpg
from sqlalchemy import CursorResult, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from wattgate.db.connections.engine import Database
from wattgate.db.connections.engine_errors import translate_error
from wattgate.db.connections.pooler import pools_transactions
from wattgate.db.connections.reader import DatabaseReader, PostgresqlReader, ResultRows
from wattgate.db.connections.reading_pool import LentConnection
from wattgate.db.connections.scoped_connection import LogPosition, ScopedConnection
from wattgate.db.scope.row_scope import Scope, ScopeHolder
from wattgate.errors import Unavailable
from wattgate.metrics import REPLICA_LAG, REPLICA_READS
from wattgate.tracer import Tracer

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
"""After a failure or a lag, all readers use the primary for this time."""

ATTEMPT_SECONDS = 2.0
"""The maximum time to get a connection to the replica, besides the wait for its log."""

FIRST_DELAY, MAX_DELAY = 0.001, 0.02
"""The seconds between two questions to the replica. They double."""

DATABASE_ERRORS = (
    DBAPIError,
    PoolTimeoutError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    OSError,
    Unavailable,
)
"""The errors of a statement that fails. A timeout of asyncio is an OSError."""

READ_ONLY_SQLSTATE = "25006"

_SELECT_END = """
    SELECT CAST('x' || substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8) AS bit(32))::integer,
        (CASE current_setting('synchronous_commit')
            WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn()
        END - '0/0')::bigint,
        (SELECT system_identifier FROM pg_control_system())"""
"""The end of the log. A commit is visible after it was flushed, or before if commits are asynchronous."""

_SELECT_REPLAYED = """
    SELECT greatest((SELECT timeline_id FROM pg_control_checkpoint()),
            (SELECT min_recovery_end_timeline FROM pg_control_recovery())),
        coalesce(pg_last_wal_replay_lsn() - '0/0', 0)::bigint,
        (SELECT system_identifier FROM pg_control_system()),
        pg_is_in_recovery()"""
"""The position that the replica has replayed. Until its next restartpoint, its timeline may be an earlier one."""

_SERVED, _BEHIND, _AWAY = (REPLICA_READS.labels(outcome) for outcome in ("replica", "behind", "away"))


class ServerPosition(NamedTuple):
    """The position of a server in the log, and what shows that it is the right server."""

    position: LogPosition
    cluster: int
    is_standby: bool


class PrimaryLog:
    """The end of the primary's log. Callers of one moment share a statement that is sent after their calls."""

    def __init__(self, primary: Database) -> None:
        self._primary = primary
        self._running: asyncio.Task[Any] | None = None
        self._next: asyncio.Task[Any] | None = None

    async def read_end(self) -> tuple[ServerPosition, str] | None:
        """Return the end of the log, and the role of the policies there; None if the primary does not answer."""
        if self._next is None:
            self._next = asyncio.create_task(self._read_after(self._running))
        return await asyncio.shield(self._next)

    async def _read_after(self, previous: asyncio.Task[Any] | None) -> tuple[ServerPosition, str] | None:
        if previous is not None:
            await asyncio.wait([previous])
        self._running, self._next = self._next, None  # a later caller needs a later statement
        try:
            connection = await self._primary.borrow_connection(None)
            try:
                return await read_primary(connection.driver), connection.driver.row_role
            finally:
                connection.close()
        except DATABASE_ERRORS:
            return None  # the caller uses the primary, which raises the error


class StreamingReplica:
    """The replica for queries, with the primary for whenever the replica cannot be used."""

    def __init__(self, primary: Database, replica: Database, wait_seconds: float, tracer: Tracer) -> None:
        self.primary = primary
        self.database = replica
        self.tracer = tracer
        self._wait_seconds = wait_seconds
        self._log = PrimaryLog(primary)
        self._suspended_until: float | None = None
        self._is_probing = False

    @property
    def sync_engines(self) -> list[Engine]:
        return self.database.sync_engines

    def reader(self, scope: Scope) -> AbstractAsyncContextManager[DatabaseReader]:
        """Open a reader that sees all changes of this moment."""
        return _OpenReader(self, scope)

    async def close(self) -> None:
        await self.database.close()

    async def borrow_connection(self, holder: ScopeHolder) -> LentConnection | None:
        """Return a connection to the replica that sees all changes of this moment; None if the primary is needed."""
        is_probe = self._suspended_until is not None
        if self._is_probing or (self._suspended_until or 0) > time.monotonic():
            _AWAY.inc()
            return None
        self._is_probing = is_probe
        try:
            return await self._borrow(holder)
        except DATABASE_ERRORS as error:
            self.suspend(f"does not answer: {error!r}")
            _AWAY.inc()
            return None
        finally:
            self._is_probing = self._is_probing and not is_probe

    async def _borrow(self, holder: ScopeHolder) -> LentConnection | None:
        end = await self._log.read_end()
        if end is None:
            return None
        wanted, row_role = end
        async with asyncio.timeout(ATTEMPT_SECONDS + self._wait_seconds):
            connection = await self.database.borrow_connection(None)
            try:
                problem = await self.find_problem(connection.driver, wanted)
            except BaseException:
                connection.invalidate()
                connection.close()
                raise
        if problem is None and connection.driver.row_role == row_role:
            connection.driver.scope_holder = holder
            self._resume()
            return connection
        if problem is None:
            connection.invalidate()  # a new connection finds out that the role exists, or exists no more
        else:
            self.suspend(problem)
        connection.close()
        _BEHIND.inc()
        return None

    async def find_problem(self, driver: ScopedConnection, wanted: ServerPosition) -> str | None:
        """Wait until the replica has replayed the log up to a position. Return why it cannot be used, if so."""
        end = time.monotonic() + self._wait_seconds
        delay = FIRST_DELAY
        while not _reaches(driver.replayed, wanted.position):
            found = await read_replica(driver)
            if problem := describe_wrong_server(found, wanted):
                return problem
            driver.replayed = found.position
            REPLICA_LAG.set(max(wanted.position.byte - found.position.byte, 0))
            if _reaches(found.position, wanted.position):
                break
            if time.monotonic() + delay > end:
                return describe_lag(found.position, wanted.position)
            await asyncio.sleep(delay)
            delay = min(delay * 2, MAX_DELAY)
        return None

    def suspend(self, problem: str) -> None:
        """Let all readers use the primary for RETRY_SECONDS."""
        if self._suspended_until is None:
            log.warning("The read replica %s. Queries go to the primary.", problem)
        self._suspended_until = time.monotonic() + RETRY_SECONDS

    def _resume(self) -> None:
        _SERVED.inc()
        if self._suspended_until is not None:
            log.info("The read replica is used again.")
            self._suspended_until = None


def _reaches(replayed: LogPosition, wanted: LogPosition) -> bool:
    return replayed.timeline == wanted.timeline and replayed.byte >= wanted.byte


async def read_primary(driver: ScopedConnection) -> ServerPosition:
    """Return the end of the log of a primary. Raise PostgresError if the server is a standby."""
    timeline, byte, cluster = await driver.fetchrow(_SELECT_END)
    return ServerPosition(LogPosition(timeline, byte), cluster, is_standby=False)


async def read_replica(driver: ScopedConnection) -> ServerPosition:
    """Return what a replica has replayed."""
    timeline, byte, cluster, is_standby = await driver.fetchrow(_SELECT_REPLAYED)
    return ServerPosition(LogPosition(timeline, byte), cluster, is_standby)


def describe_wrong_server(replica: ServerPosition, primary: ServerPosition) -> str | None:
    """Return why a server is not a replica of the primary, and what to do; None if it is one."""
    remedy = "set WATTGATE_DATABASE_REPLICA_URL to a streaming replica of WATTGATE_DATABASE_URL"
    if replica.cluster != primary.cluster:
        return f"belongs to another cluster, with other data: {remedy}"
    if not replica.is_standby:
        return f"is not a standby, so it does not receive the changes of the primary: {remedy}"
    return None


def describe_lag(replica: LogPosition, primary: LogPosition) -> str | None:
    """Return what a replica lacks; None if it has replayed the log up to the position of the primary."""
    if replica.timeline != primary.timeline:
        return (
            f"has timeline {replica.timeline}, and the primary has {primary.timeline}: it has not followed a failover"
        )
    if replica.byte < primary.byte:
        return f"lacks {primary.byte - replica.byte} bytes of the write-ahead log"
    return None


class _OpenReader:
    """The context manager of a reader on the replica, or on the primary if the replica cannot be used."""

    def __init__(self, replica: StreamingReplica, scope: Scope) -> None:
        self._replica = replica
        self._scope = scope
        self._reader: ReplicaReader | None = None
        self._primary: AbstractAsyncContextManager[DatabaseReader] | None = None

    async def __aenter__(self) -> DatabaseReader:
        holder = ScopeHolder(self._scope)
        connection = await self._replica.borrow_connection(holder)
        if connection is None:
            self._primary = self._replica.primary.reader(self._scope)
            return await self._primary.__aenter__()
        self._reader = ReplicaReader(self._replica, connection, holder)
        return self._reader

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._primary is not None:
            await self._primary.__aexit__(error_type, error, traceback)
            return
        assert self._reader is not None
        self._reader.close()
        if isinstance(error, Exception) and (translated := translate_error(error)) is not None:
            raise translated from error


class ReplicaReader(PostgresqlReader):
    """A reader on the replica. After a failed statement it goes on with the primary, and repeats the statement there.

    Each statement is a transaction of its own, so a later one may see more than an earlier one, as on one server.
    """

    def __init__(self, replica: StreamingReplica, connection: LentConnection, holder: ScopeHolder) -> None:
        super().__init__(replica.database.reader_engine, connection, replica.tracer, holder)
        self._replica = replica
        self._holder = holder
        self._is_on_replica = True

    def close(self) -> None:
        """Return the connection to its pool."""
        self._lent.close()

    async def execute(self, *arguments: Any, **options: Any) -> CursorResult[*tuple[Any, ...]]:
        try:
            return await super().execute(*arguments, **options)
        except DATABASE_ERRORS as error:
            await self._go_on_with_primary(error)
        return await super().execute(*arguments, **options)

    async def _fetch_from_driver(self, sql: str, arguments: Any) -> ResultRows:
        try:
            return await super()._fetch_from_driver(sql, arguments)
        except DATABASE_ERRORS as error:
            await self._go_on_with_primary(error)
        return await super()._fetch_from_driver(sql, arguments)

    async def _go_on_with_primary(self, error: Exception) -> None:
        """Use the primary from now on. Raise the error of the statement if it ran on the primary already."""
        if not self._is_on_replica:
            raise error
        cause = error.orig if isinstance(error, DBAPIError) else error
        refused = getattr(cause, "sqlstate", None) == READ_ONLY_SQLSTATE  # each replica refuses such a statement
        if not refused and isinstance(translate_error(error), Unavailable):
            self._replica.suspend(f"has failed: {error!r}")
        self._lent.close()
        primary = self._replica.primary
        self._lent = await primary.borrow_connection(self._holder)
        self._engine = primary.reader_engine
        self._is_on_replica = False
        self.__dict__.pop("_sqlalchemy_connection", None)


# Check the read replica of the settings: whether it may be used, and what is wrong with it at the moment.

TIMEOUT_SECONDS = 5.0

BEHIND_POOLER = (
    "is behind a pooler of transactions, which may change the server between two statements: set "
    "WATTGATE_DATABASE_REPLICA_URL to the server itself, or let the pooler pool sessions"
)


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """The state of the read replica. `error` forbids its use. With `warning`, queries go to the primary meanwhile."""

    error: str | None = None
    warning: str | None = None


async def read_replica_state(database: Database) -> ReplicaState | None:
    """Return the state of the replica of a database, or None if it has none."""
    replica = database.replica
    if not isinstance(replica, StreamingReplica):
        return None
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return await _find_state(replica)
    except DATABASE_ERRORS as error:
        return ReplicaState(warning=f"does not answer: {error!r}. Check WATTGATE_DATABASE_REPLICA_URL")


async def _find_state(replica: StreamingReplica) -> ReplicaState:
    if await pools_transactions(replica.database):
        return ReplicaState(error=BEHIND_POOLER)
    primary = await replica.primary.borrow_connection(None)
    try:
        wanted = await read_primary(primary.driver)
    finally:
        primary.close()
    connection = await replica.database.borrow_connection(None)
    try:
        if problem := describe_wrong_server(await read_replica(connection.driver), wanted):
            return ReplicaState(error=problem)
        problem = await replica.find_problem(connection.driver, wanted)
    finally:
        connection.close()
    remedy = "Check its disk, its network and pg_stat_replication of the primary"
    return ReplicaState(warning=f"{problem}. {remedy}" if problem else None)
