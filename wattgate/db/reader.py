"""A connection for statements that change nothing: what reading needs of SQLAlchemy's session, and cheaper."""

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, cast

from sqlalchemy import ClauseElement, CursorResult, Dialect, Executable, select
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession
from sqlalchemy.pool import PoolProxiedConnection

from wattgate.db.driver import Made, made
from wattgate.db.guard import SCOPED, refuse_unscoped
from wattgate.spans import Spans

NOTHING: Mapping[str, Any] = MappingProxyType({})

Found = Sequence[Sequence[Any]]
"""Rows of values, in the order of the statement's columns."""


class Reader:
    """Executes statements on a connection. It gives rows and no records, for there is nothing to be saved."""

    def __init__(self, connection: AsyncConnection) -> None:
        self.dialect = connection.dialect
        self._connection = connection

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
        return (await self.execute(statement, parameters, execution_options=options)).all()

    async def get(self, model: Any, key: str, *, execution_options: Mapping[str, Any] = NOTHING) -> Any:
        """The row of a model with this primary key, or None."""
        table = model.__table__
        (identifier,) = table.primary_key
        found = await self.execute(select(*table.columns).where(identifier == key), execution_options=execution_options)
        return found.one_or_none()

    async def connection(self) -> AsyncConnection:
        """The connection, for what the other methods have no way to."""
        return self._connection


class DriverReader(Reader):
    """The same on a connection of asyncpg that the engine's pool has given. What is made once is executed by the driver
    itself, which takes a third of what SQLAlchemy takes for it; SQLAlchemy is there for the rest.
    """

    def __init__(self, engine: AsyncEngine, held: PoolProxiedConnection, spans: Spans) -> None:
        self.dialect = engine.dialect
        self._engine = engine
        self._held = held
        self._spans = spans

    async def fetch(self, statement: Executable, parameters: Mapping[str, Any], options: Mapping[str, Any]) -> Found:
        known = _made(statement, self.dialect, bool(options.get("scoped")))
        driver: Any = self._held.driver_connection
        with self._spans.statement(self.dialect.name, known.sql):
            return known.rows(await driver.fetch(known.sql, *known.arguments(parameters)))

    async def connection(self) -> AsyncConnection:
        return self._by_sqlalchemy

    @cached_property
    def _by_sqlalchemy(self) -> AsyncConnection:
        return AsyncConnection(self._engine, Connection(self._engine.sync_engine, self._held))


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
