"""Read-only connections and constant statements: the part of SQLAlchemy that queries need, at a lower cost."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from types import MappingProxyType
from typing import Any, cast

from sqlalchemy import ARRAY, ClauseElement, CursorResult, Dialect, Executable, Select, TextClause, select
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession
from sqlalchemy.types import TypeEngine

from wattgate.db.column_types import StructColumn
from wattgate.db.connections.reading_pool import LentConnection, begin_transaction
from wattgate.db.connections.scoped_connection import Locks
from wattgate.db.scope.row_scope import ScopeHolder
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION, require_tenant_scope
from wattgate.pauses import pause
from wattgate.tracer import NO_SPAN, NOOP_TRACER, Tracer

# Statements in the form that a database's driver executes. SQLAlchemy compiles each of them once.
#
# If SQLAlchemy executes a statement, even one in its caches, it takes more than twice the time of the driver alone.

ValueProcessor = Callable[[Any], Any]

MAX_DECODED_TEXTS = 1024
"""The maximum number of decoded texts that are kept for a column."""

PAUSE_ROWS = 250
"""Number of rows whose values are converted between two pauses. A tariff with 50 bands takes 0.1 ms."""


@dataclass(frozen=True, slots=True)
class CompiledStatement:
    """The text of a statement, with $1, $2 and so on for PostgreSQL and question marks for SQLite.

    `parameter_names` are in the order of the placeholders. `constants` are the values of parameters that the statement
    itself sets. `bind_processors` convert parameters, by name, to the driver's types. `result_processors` convert
    columns, by position, from the driver's types.
    """

    sql: str
    parameter_names: tuple[str, ...]
    constants: Mapping[str, Any]
    bind_processors: Mapping[str, ValueProcessor]
    result_processors: tuple[tuple[int, ValueProcessor], ...]

    def bind_arguments(self, parameters: Mapping[str, Any]) -> list[Any]:
        """Return the values of the parameters in order, converted for the driver."""
        values = {**self.constants, **parameters} if self.constants else parameters
        if not self.bind_processors:
            return [values[name] for name in self.parameter_names]
        values = dict(values)
        for name, process in self.bind_processors.items():
            values[name] = process(values[name])
        return [values[name] for name in self.parameter_names]

    def convert_rows(self, driver_rows: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
        """Return rows of the driver with converted values."""
        if not self.result_processors:
            return driver_rows
        rows = [list(row) for row in driver_rows]
        for position, process in self.result_processors:
            for row in rows:
                row[position] = process(row[position])
        return rows


def compile_statement(statement: ClauseElement, dialect: Dialect) -> CompiledStatement:
    """Compile a statement for the driver of a dialect."""
    compiled: Any = statement.compile(dialect=dialect)
    names = tuple(compiled.positiontup)
    types = [column.type for column in statement.selected_columns] if isinstance(statement, Select) else []
    bind_processors = {name: _bind_processor(compiled.binds[name].type, dialect) for name in names}
    result_processors = [_result_processor(type_, dialect) for type_ in types]
    return CompiledStatement(
        sql=compiled.string,
        parameter_names=names,
        constants={name: value for name, value in compiled.params.items() if not compiled.binds[name].required},
        bind_processors={name: process for name, process in bind_processors.items() if process is not None},
        result_processors=tuple(
            (position, process) for position, process in enumerate(result_processors) if process is not None
        ),
    )


def _bind_processor(type_: TypeEngine[Any], dialect: Dialect) -> ValueProcessor | None:
    """Return the function that converts a parameter for the driver; None if it needs no conversion."""
    if isinstance(type_, ARRAY) and type_.item_type.dialect_impl(dialect).bind_processor(dialect) is None:
        return None  # SQLAlchemy's function would only copy the list
    return type_.dialect_impl(dialect).bind_processor(dialect)


def _result_processor(type_: TypeEngine[Any], dialect: Dialect) -> ValueProcessor | None:
    """Return the function that converts a value of the driver; None if it needs no conversion."""
    if isinstance(type_, StructColumn) and type_.is_shared:
        return _shared_decoder(type_, dialect)
    return type_.dialect_impl(dialect).result_processor(dialect, None)


@cache
def _shared_decoder(type_: StructColumn, dialect: Dialect) -> ValueProcessor | None:
    """Return a decoder for a column of frozen structs, such as storage definitions.

    Such a column holds few distinct texts in many rows: each of them is decoded once.
    """
    decode = type_.dialect_impl(dialect).result_processor(dialect, None)
    return decode and lru_cache(maxsize=MAX_DECODED_TEXTS)(decode)


# Read-only connections: the part of SQLAlchemy's session that queries need, at a lower cost.


EMPTY_MAPPING: Mapping[str, Any] = MappingProxyType({})

ResultRows = Sequence[Sequence[Any]]
"""Rows of values, in the order of the statement's columns."""


class DatabaseReader(ABC):
    """Executes statements on a connection. It returns rows, not ORM records, because nothing is saved.

    The driver executes constant statements directly (`fetch`). That takes a third of the time of SQLAlchemy, or a
    fifth on SQLite. SQLAlchemy executes all others.
    """

    def __init__(self, engine: AsyncEngine, lent: LentConnection, tracer: Tracer, holder: ScopeHolder) -> None:
        self.dialect = engine.sync_engine.dialect  # the asyncio engine takes two more calls
        self.info: Mapping[str, Any] = {"scope": holder}
        self._engine = engine
        self._lent = lent
        self._tracer = tracer

    async def execute(
        self,
        statement: Executable,
        parameters: Mapping[str, Any] = EMPTY_MAPPING,
        *,
        execution_options: Mapping[str, Any] = EMPTY_MAPPING,
    ) -> CursorResult[*tuple[Any, ...]]:
        """Execute a statement with SQLAlchemy.

        Raise UnscopedStatementError if it uses a tenant table and has no application filter.
        """
        require_tenant_scope(statement, execution_options)
        return await (await self.connection()).execute(statement, parameters)

    async def fetch(
        self, statement: Executable, parameters: Mapping[str, Any], options: Mapping[str, Any]
    ) -> ResultRows:
        """Return the rows of a constant statement, which is compiled once."""
        compiled = _compile(statement, self.dialect, bool(options.get("scoped")))
        arguments = compiled.bind_arguments(parameters)
        tracer = self._tracer
        with tracer.statement_span(self.dialect.name, compiled.sql) if tracer.is_enabled else NO_SPAN:
            rows = await self._fetch_from_driver(compiled.sql, arguments)
            if len(rows) <= PAUSE_ROWS or not compiled.result_processors:
                return compiled.convert_rows(rows)
            converted: list[Sequence[Any]] = []
            for start in range(0, len(rows), PAUSE_ROWS):
                converted += compiled.convert_rows(rows[start : start + PAUSE_ROWS])
                await pause()
            return converted

    async def get(self, model: Any, key: str, *, execution_options: Mapping[str, Any] = EMPTY_MAPPING) -> Any:
        """Return the row of a model with this primary key, or None."""
        table = model.__table__
        (key_column,) = table.primary_key
        result = await self.execute(
            select(*table.columns).where(key_column == key), execution_options=execution_options
        )
        return result.one_or_none()

    async def connection(self) -> AsyncConnection:
        """Return the SQLAlchemy connection, for uses that the other methods do not cover."""
        return self._sqlalchemy_connection

    @cached_property
    def _sqlalchemy_connection(self) -> AsyncConnection:
        return AsyncConnection(self._engine, Connection(self._engine.sync_engine, self._lent))

    async def fetch_sql(self, sql: str, arguments: Sequence[Any]) -> ResultRows:
        """Return the rows of a statement of PostgreSQL or SQLite, which uses no table of tenants."""
        return await self._fetch_from_driver(sql, arguments)

    @abstractmethod
    def lock_first(self, locks: Locks) -> None:
        """Let the next statement take advisory locks first, in one round trip. SQLite has none."""

    @abstractmethod
    async def _fetch_from_driver(self, sql: str, arguments: Sequence[Any]) -> ResultRows:
        """Execute a compiled statement with the driver and return its rows."""


class PostgresqlReader(DatabaseReader):
    """A reader on a connection of asyncpg."""

    def lock_first(self, locks: Locks) -> None:
        self._lent.driver.next_locks = locks

    async def _fetch_from_driver(self, sql: str, arguments: Sequence[Any]) -> ResultRows:
        rows: ResultRows = await self._lent.driver.fetch_rows(sql, arguments)
        return rows


class SqliteReader(DatabaseReader):
    """A reader on a connection of aiosqlite.

    SQLAlchemy's own work for a statement takes longer than SQLite's.
    """

    def lock_first(self, locks: Locks) -> None:
        return

    async def _fetch_from_driver(self, sql: str, arguments: Sequence[Any]) -> ResultRows:
        driver = self._lent.driver
        try:
            return cast(ResultRows, await driver.execute_fetchall(sql, arguments))
        except asyncio.CancelledError:
            await driver.interrupt()  # otherwise the thread would continue
            raise


class _TransactionConnection:
    """The connection of a transaction, for a reader in it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver


async def transaction_reader(session: AsyncSession) -> DatabaseReader:
    """Return a reader of constant statements in the transaction of a session that `Database` opened."""
    connection = session.sync_session.connection()  # it is open, so this waits for nothing
    pooled: Any = _TransactionConnection(connection.connection.driver_connection)
    if connection.dialect.name == "sqlite":
        return SqliteReader(cast(AsyncEngine, session.bind), pooled, NOOP_TRACER, session.info["scope"])
    await begin_transaction(connection.connection.dbapi_connection)
    return PostgresqlReader(cast(AsyncEngine, session.bind), pooled, NOOP_TRACER, session.info["scope"])


async def fetch_in_transaction(
    connection: AsyncConnection, statement: TextClause, parameters: Mapping[str, Any]
) -> ResultRows:
    """Execute a constant statement in the transaction of a connection, on PostgreSQL with the driver.

    Return its rows. SQLAlchemy takes about three times the time of the driver, and each recording executes several.
    """
    if connection.dialect.name == "sqlite":
        result = await connection.execute(statement, parameters)
        return result.all() if result.returns_rows else ()
    compiled = _compile(statement, connection.dialect, False)
    pooled = await connection.get_raw_connection()
    await begin_transaction(pooled.dbapi_connection)
    driver: Any = pooled.driver_connection
    return compiled.convert_rows(await driver.fetch_rows(compiled.sql, compiled.bind_arguments(parameters)))


@lru_cache(maxsize=512)
def _compile(statement: Executable, dialect: Dialect, scoped: bool) -> CompiledStatement:
    require_tenant_scope(statement, SCOPED_OPTION if scoped else EMPTY_MAPPING)
    return compile_statement(cast(ClauseElement, statement), dialect)


DatabaseSession = AsyncSession | DatabaseReader
"""The database access of an operation: a session for mutations, a reader for queries."""


async def fetch(
    session: DatabaseSession,
    statement: Executable,
    parameters: Mapping[str, Any] = EMPTY_MAPPING,
    *,
    execution_options: Mapping[str, Any] = EMPTY_MAPPING,
) -> ResultRows:
    """Return the rows of a constant statement, which a reader compiles once."""
    if isinstance(session, AsyncSession):  # to check for an abstract class would take longer
        return (await session.execute(statement, parameters, execution_options=execution_options)).all()
    return await session.fetch(statement, parameters, execution_options)


def dialect_name(session: DatabaseSession) -> str:
    """Return the name of the database's dialect: sqlite or postgresql."""
    return (session.get_bind() if isinstance(session, AsyncSession) else session).dialect.name
