"""Readers: statements in the driver return the same rows and raise the same errors as in SQLAlchemy and sessions."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import bindparam, select, text
from sqlalchemy.engine import make_url
from sqlmodel import col

from tests.support.house import House
from tests.support.scopes import EVERYTHING
from wattgate.clock import utc_now
from wattgate.db.connections.engine import Database
from wattgate.db.connections.reader import fetch
from wattgate.db.models import Tariff, Tenanted
from wattgate.db.scope.tenancy_guard import SCOPED_OPTION, UnscopedStatementError, tenanted_models
from wattgate.errors import BadInput, Unavailable
from wattgate.tracer import NoopTracer

MODELS = sorted(
    tenanted_models(),
    key=lambda model: str(model.__name__),
)


@pytest.fixture
async def database(postgresql_url: str) -> AsyncIterator[Database]:
    """A PostgreSQL database with a pool of one connection."""
    database = Database(postgresql_url, pool_size=1)
    yield database
    await database.close()


@pytest.fixture
async def either_database(empty_url: str) -> AsyncIterator[Database]:
    """An empty database of each kind, with a pool of one connection."""
    database = Database(empty_url, pool_size=1)
    yield database
    await database.close()


async def test_fetch_returns_the_same_rows_as_sqlalchemy(served: House, subtests: pytest.Subtests) -> None:
    assert MODELS
    for model in MODELS:
        with subtests.test(model.__name__):
            await compare_rows(served, model)


async def compare_rows(served: House, model: type[Tenanted]) -> None:
    """Assert that the driver, SQLAlchemy and a session return the same rows of a table."""
    table = model.__table__  # type: ignore[attr-defined]
    scope = table.columns["application_id"] == bindparam("application")
    statement = select(*table.columns).where(scope).order_by(*table.primary_key)
    parameters = {"application": served.one.application_id}
    async with served.gateway.database.reader(EVERYTHING) as reader:
        while True:
            before = (await reader.execute(statement, parameters, execution_options=SCOPED_OPTION)).all()
            rows = await fetch(reader, statement, parameters, execution_options=SCOPED_OPTION)
            after = (await reader.execute(statement, parameters, execution_options=SCOPED_OPTION)).all()
            async with served.gateway.database.session(EVERYTHING) as session:
                of_session = await fetch(session, statement, parameters, execution_options=SCOPED_OPTION)
            last = (await reader.execute(statement, parameters, execution_options=SCOPED_OPTION)).all()
            if before == after == last:  # a worker of the gateway may change rows in between
                break
    assert [tuple(row) for row in rows] == [tuple(row) for row in after]
    assert [tuple(row) for row in of_session] == [tuple(row) for row in after]


async def test_fetch_binds_constants_and_parameters_in_order(served: House) -> None:
    statement = select(col(Tariff.name), col(Tariff.standing_charge)).where(
        col(Tariff.superseded_at).is_(None),
        col(Tariff.application_id) == bindparam("application"),
        col(Tariff.name) == "Standard",
        col(Tariff.valid_from) <= bindparam("until"),
    )
    parameters = {"until": utc_now(), "application": served.one.application_id}
    async with served.gateway.database.reader(EVERYTHING) as reader:
        rows = await fetch(reader, statement, parameters, execution_options=SCOPED_OPTION)
        expected = (await reader.execute(statement, parameters, execution_options=SCOPED_OPTION)).all()
    assert [tuple(row) for row in rows] == [tuple(row) for row in expected] != []


async def test_statement_without_application_filter_raises(served: House) -> None:
    statement = select(col(Tariff.name))
    async with served.gateway.database.reader(EVERYTHING) as reader:
        assert await fetch(reader, statement, execution_options=SCOPED_OPTION)
        with pytest.raises(UnscopedStatementError):
            await fetch(reader, statement)


@pytest.mark.parametrize("value", ["\0", 2**70], ids=["U+0000", "too large"])
async def test_value_that_cannot_be_stored_raises_bad_input(database: Database, value: Any) -> None:
    kind = "text" if isinstance(value, str) else "bigint"
    with pytest.raises(BadInput):
        async with database.reader(EVERYTHING) as reader:
            await fetch(reader, text(f"SELECT CAST(:value AS {kind})"), {"value": value})


@pytest.mark.parametrize("state", ["57P03", "53300", "08006", "40P01"])
async def test_server_error_states_raise_unavailable(database: Database, state: str) -> None:
    fault = f"DO $$ BEGIN RAISE EXCEPTION 'the server is starting up' USING ERRCODE = '{state}'; END $$"
    with pytest.raises(Unavailable):
        async with database.reader(EVERYTHING) as reader:
            await fetch(reader, text(fault))


async def test_refused_login_raises_unavailable(postgresql_url: str) -> None:
    database = Database(make_url(postgresql_url).set(database="no_such_database").render_as_string(hide_password=False))
    with pytest.raises(Unavailable):
        await _select_one(database)
    await database.close()


async def test_programming_error_is_not_translated(database: Database) -> None:
    with pytest.raises(Exception, match="no_such_table"):
        async with database.reader(EVERYTHING) as reader:
            await fetch(reader, text("SELECT 1 FROM no_such_table"))
    assert await _select_one(database)


async def test_connection_closed_by_the_server_is_replaced(database: Database, postgresql_url: str) -> None:
    other = Database(postgresql_url)
    server_pid = await _backend_pid(database)
    async with other.reader(EVERYTHING) as reader:
        await reader.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": server_pid})
    await asyncio.sleep(0.1)  # time for the client to notice the closed connection
    assert await _backend_pid(database) != server_pid
    await other.close()


async def test_connection_lost_during_a_statement_raises_unavailable_and_is_replaced(database: Database) -> None:
    with pytest.raises(Unavailable):
        async with database.reader(EVERYTHING) as reader:
            await fetch(reader, text("SELECT pg_terminate_backend(pg_backend_pid())"))
    assert await _select_one(database)


async def test_cancellation_ends_the_postgresql_statement_and_keeps_the_connection(
    database: Database, postgresql_url: str
) -> None:
    server_pid = await _backend_pid(database)

    async def sleep() -> None:
        async with database.reader(EVERYTHING) as reader:
            await fetch(reader, text("SELECT pg_sleep(60)"))

    async with asyncio.timeout(60):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(sleep(), 0.3)
        assert await _backend_pid(database) == server_pid


async def test_cancellation_ends_the_sqlite_statement(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'test.sqlite3'}", pool_size=1)

    async def count() -> None:
        async with database.reader(EVERYTHING) as reader:
            await fetch(
                reader, text("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n")
            )

    async with asyncio.timeout(60):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(count(), 0.3)
        assert await _select_one(database) == 1
    await database.close()


async def test_sqlite_error_raises_unavailable(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'test.sqlite3'}")
    with pytest.raises(Unavailable):
        async with database.reader(EVERYTHING) as reader:
            await fetch(reader, text("SELECT 1 FROM no_such_table"))
    assert await _select_one(database) == 1
    await database.close()


async def test_readers_wait_for_a_free_connection(either_database: Database) -> None:
    assert await asyncio.gather(*(_select_one(either_database) for _ in range(50))) == [1] * 50


async def test_reader_uses_sqlalchemy_and_the_driver_on_one_connection(either_database: Database) -> None:
    async with either_database.reader(EVERYTHING) as reader:
        assert (await reader.execute(text("SELECT 1"))).scalar_one() == 1
        assert [tuple(row) for row in await fetch(reader, text("SELECT 2"))] == [(2,)]
        assert (await reader.execute(text("SELECT 3"))).scalar_one() == 3


async def test_statement_is_prepared_again_if_its_result_has_changed(postgresql_url: str) -> None:
    database = Database(postgresql_url, pool_size=1)
    statement = text("SELECT * FROM pg_temp.changing")
    async with database.reader(EVERYTHING) as reader:
        await reader.execute(text("CREATE TEMPORARY TABLE changing AS SELECT 1 AS n"))
        assert [tuple(row) for row in await fetch(reader, statement)] == [(1,)]
        await reader.execute(text("ALTER TABLE changing ALTER n TYPE text"))
        assert [tuple(row) for row in await fetch(reader, statement)] == [("1",)]
    await database.close()


async def test_driver_statement_is_traced_as_a_span(empty_url: str) -> None:
    spans = []

    class RecordingTracer(NoopTracer):
        is_enabled = True

        def statement_span(self, system: str, sql: str) -> AbstractContextManager[Any]:
            return record_span(system, sql)

    @contextmanager
    def record_span(system: str, sql: str) -> Any:
        spans.append((system, sql))
        yield

    database = Database(empty_url, tracer=RecordingTracer())
    async with database.reader(EVERYTHING) as reader:
        await fetch(reader, text("SELECT CAST(:n AS int)"), {"n": 7})
    await database.close()
    placeholder = "?" if database.is_sqlite else "$1"
    assert spans == [("sqlite" if database.is_sqlite else "postgresql", f"SELECT CAST({placeholder} AS int)")]


async def _select_one(database: Database) -> int:
    async with database.reader(EVERYTHING) as reader:
        ((value,),) = await fetch(reader, text("SELECT 1"))
    return int(value)


async def _backend_pid(database: Database) -> int:
    async with database.reader(EVERYTHING) as reader:
        ((pid,),) = await fetch(reader, text("SELECT pg_backend_pid()"))
    return int(pid)
