"""A connection for statements that change nothing: what reading needs of SQLAlchemy's session, and cheaper."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, cast

from sqlalchemy import ClauseElement, CursorResult, Dialect, Executable, select
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession
from sqlalchemy.pool import PoolProxiedConnection

from wattgate.db.driver import Made, made
from wattgate.db.tenancy_guard import SCOPED, refuse_unscoped
from wattgate.tracer import Spans

NOTHING: Mapping[str, Any] = MappingProxyType({})

Found = Sequence[Sequence[Any]]
"""Rows of values, in the order of the statement's columns."""


class Reader(ABC):
    """Executes statements on a connection. It gives rows and no records, for there is nothing to be saved.

    What is made once is executed by the driver itself, which takes a third of what SQLAlchemy takes for it, of
    SQLite's a fifth; SQLAlchemy is there for the rest.
    """

    def __init__(self, dialect: Dialect, spans: Spans) -> None:
        self.dialect = dialect
        self._spans = spans

    async def execute(
        self,
        statement: Executable,
        parameters: Mapping[str, Any] = NOTHING,
        *,
        execution_options: Mapping[str, Any] = NOTHING,
    ) -> CursorResult[*tuple[Any, ...]]:
        """The result of a statement. UnscopedStatement where it is on records of applications and names none."""
        refuse_unscoped(statement, execution_options)
        return await (await self.connection()).execute(statement, parameters)

    async def fetch(self, statement: Executable, parameters: Mapping[str, Any], options: Mapping[str, Any]) -> Found:
        """The rows of a statement that is made once, and executed again and again."""
        known = _made(statement, self.dialect, bool(options.get("scoped")))
        with self._spans.statement(self.dialect.name, known.sql):
            return known.rows(await self._by_driver(known.sql, known.arguments(parameters)))

    async def get(self, model: Any, key: str, *, execution_options: Mapping[str, Any] = NOTHING) -> Any:
        """The row of a model with this primary key, or None."""
        table = model.__table__
        (identifier,) = table.primary_key
        found = await self.execute(select(*table.columns).where(identifier == key), execution_options=execution_options)
        return found.one_or_none()

    @abstractmethod
    async def connection(self) -> AsyncConnection:
        """The connection, for what the other methods have no way to."""

    @abstractmethod
    async def _by_driver(self, sql: str, arguments: Sequence[Any]) -> Found:
        """The rows of a statement in the driver's words."""


class PostgresqlReader(Reader):
    """Reads on a connection of asyncpg that the engine's pool has given."""

    def __init__(self, engine: AsyncEngine, held: PoolProxiedConnection, spans: Spans) -> None:
        super().__init__(engine.dialect, spans)
        self._engine = engine
        self._held = held

    async def connection(self) -> AsyncConnection:
        return self._by_sqlalchemy

    @cached_property
    def _by_sqlalchemy(self) -> AsyncConnection:
        return AsyncConnection(self._engine, Connection(self._engine.sync_engine, self._held))

    async def _by_driver(self, sql: str, arguments: Sequence[Any]) -> Found:
        driver: Any = self._held.driver_connection
        return cast(Found, await driver.fetch(sql, *arguments))


class SqliteReader(Reader):
    """Reads on a connection of aiosqlite, which has a thread for it: SQLAlchemy goes there four times a statement."""

    def __init__(self, connection: AsyncConnection, spans: Spans) -> None:
        super().__init__(connection.dialect, spans)
        self._connection = connection
        self._driver: Any = cast(Connection, connection.sync_connection).connection.driver_connection

    async def connection(self) -> AsyncConnection:
        return self._connection

    async def _by_driver(self, sql: str, arguments: Sequence[Any]) -> Found:
        try:
            return cast(Found, await self._driver.execute_fetchall(sql, arguments))
        except asyncio.CancelledError:
            await self._driver.interrupt()  # or the thread would go on
            raise


@lru_cache(maxsize=512)
def _made(statement: Executable, dialect: Dialect, scoped: bool) -> Made:
    refuse_unscoped(statement, SCOPED if scoped else NOTHING)
    return made(cast(ClauseElement, statement), dialect)


Session = AsyncSession | Reader
"""What an operation has of the database: mutations a session, queries a reader."""


async def fetch(
    session: Session,
    statement: Executable,
    parameters: Mapping[str, Any] = NOTHING,
    *,
    execution_options: Mapping[str, Any] = NOTHING,
) -> Found:
    """The rows of a statement that is made once, and executed again and again."""
    if isinstance(session, Reader):
        return await session.fetch(statement, parameters, execution_options)
    return (await session.execute(statement, parameters, execution_options=execution_options)).all()


def dialect_of(session: Session) -> str:
    """The name of the database's dialect."""
    return (session if isinstance(session, Reader) else session.get_bind()).dialect.name
