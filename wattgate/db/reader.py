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

from wattgate.db.driver import CompiledStatement, compile_statement
from wattgate.db.tenancy_guard import SCOPED_OPTION, require_tenant_scope
from wattgate.tracer import Tracer

EMPTY_MAPPING: Mapping[str, Any] = MappingProxyType({})

ResultRows = Sequence[Sequence[Any]]
"""Rows of values, in the order of the statement's columns."""


class DatabaseReader(ABC):
    """Executes statements on a connection. It gives rows and no records, for there is nothing to be saved.

    What is made once is executed by the driver itself, which takes a third of what SQLAlchemy takes for it, of
    SQLite's a fifth; SQLAlchemy is there for the rest.
    """

    def __init__(self, dialect: Dialect, tracer: Tracer) -> None:
        self.dialect = dialect
        self._tracer = tracer

    async def execute(
        self,
        statement: Executable,
        parameters: Mapping[str, Any] = EMPTY_MAPPING,
        *,
        execution_options: Mapping[str, Any] = EMPTY_MAPPING,
    ) -> CursorResult[*tuple[Any, ...]]:
        """The result of a statement. UnscopedStatement where it is on records of applications and names none."""
        require_tenant_scope(statement, execution_options)
        return await (await self.connection()).execute(statement, parameters)

    async def fetch(
        self, statement: Executable, parameters: Mapping[str, Any], options: Mapping[str, Any]
    ) -> ResultRows:
        """The rows of a statement that is made once, and executed again and again."""
        compiled = _compile(statement, self.dialect, bool(options.get("scoped")))
        with self._tracer.statement_span(self.dialect.name, compiled.sql):
            return compiled.convert_rows(
                await self._fetch_from_driver(compiled.sql, compiled.bind_arguments(parameters))
            )

    async def get(self, model: Any, key: str, *, execution_options: Mapping[str, Any] = EMPTY_MAPPING) -> Any:
        """The row of a model with this primary key, or None."""
        table = model.__table__
        (key_column,) = table.primary_key
        result = await self.execute(
            select(*table.columns).where(key_column == key), execution_options=execution_options
        )
        return result.one_or_none()

    @abstractmethod
    async def connection(self) -> AsyncConnection:
        """The connection, for what the other methods have no way to."""

    @abstractmethod
    async def _fetch_from_driver(self, sql: str, arguments: Sequence[Any]) -> ResultRows:
        """The rows of a statement in the driver's words."""


class PostgresqlReader(DatabaseReader):
    """Reads on a connection of asyncpg that the engine's pool has given."""

    def __init__(self, engine: AsyncEngine, pool_connection: PoolProxiedConnection, tracer: Tracer) -> None:
        super().__init__(engine.dialect, tracer)
        self._engine = engine
        self._pool_connection = pool_connection

    async def connection(self) -> AsyncConnection:
        return self._sqlalchemy_connection

    @cached_property
    def _sqlalchemy_connection(self) -> AsyncConnection:
        return AsyncConnection(self._engine, Connection(self._engine.sync_engine, self._pool_connection))

    async def _fetch_from_driver(self, sql: str, arguments: Sequence[Any]) -> ResultRows:
        driver: Any = self._pool_connection.driver_connection
        return cast(ResultRows, await driver.fetch(sql, *arguments))


class SqliteReader(DatabaseReader):
    """Reads on a connection of aiosqlite, which has a thread for it: SQLAlchemy goes there four times a statement."""

    def __init__(self, connection: AsyncConnection, tracer: Tracer) -> None:
        super().__init__(connection.dialect, tracer)
        self._connection = connection
        self._driver: Any = cast(Connection, connection.sync_connection).connection.driver_connection

    async def connection(self) -> AsyncConnection:
        return self._connection

    async def _fetch_from_driver(self, sql: str, arguments: Sequence[Any]) -> ResultRows:
        try:
            return cast(ResultRows, await self._driver.execute_fetchall(sql, arguments))
        except asyncio.CancelledError:
            await self._driver.interrupt()  # or the thread would go on
            raise


@lru_cache(maxsize=512)
def _compile(statement: Executable, dialect: Dialect, scoped: bool) -> CompiledStatement:
    require_tenant_scope(statement, SCOPED_OPTION if scoped else EMPTY_MAPPING)
    return compile_statement(cast(ClauseElement, statement), dialect)


DatabaseSession = AsyncSession | DatabaseReader
"""What an operation has of the database: mutations a session, queries a reader."""


async def fetch(
    session: DatabaseSession,
    statement: Executable,
    parameters: Mapping[str, Any] = EMPTY_MAPPING,
    *,
    execution_options: Mapping[str, Any] = EMPTY_MAPPING,
) -> ResultRows:
    """The rows of a statement that is made once, and executed again and again."""
    if isinstance(session, DatabaseReader):
        return await session.fetch(statement, parameters, execution_options)
    return (await session.execute(statement, parameters, execution_options=execution_options)).all()


def dialect_name(session: DatabaseSession) -> str:
    """The name of the database's dialect."""
    return (session if isinstance(session, DatabaseReader) else session.get_bind()).dialect.name
