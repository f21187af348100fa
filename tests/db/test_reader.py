"""Reading: what goes to a database's driver itself gives, and refuses, what SQLAlchemy does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import bindparam, select, text
from sqlalchemy.engine import make_url
from sqlmodel import SQLModel, col

from tests.support.house import House
from wattgate.clock import utc_now
from wattgate.db.engine import Database
from wattgate.db.models import Tariff, Tenanted
from wattgate.db.reader import fetch
from wattgate.db.tenancy_guard import SCOPED, UnscopedStatement
from wattgate.errors import BadInput, Unavailable
from wattgate.tracer import NoSpans

MODELS = sorted(
    (mapper.class_ for mapper in SQLModel._sa_registry.mappers if issubclass(mapper.class_, Tenanted)),
    key=lambda model: str(model.__name__),
)


@pytest.fixture
async def database(postgresql_url: str) -> AsyncIterator[Database]:
    """A PostgreSQL server with a pool of one connection."""
    made = Database(postgresql_url, pool_size=1)
    yield made
    await made.close()


@pytest.fixture
async def either(empty_url: str) -> AsyncIterator[Database]:
    """An empty database on each engine, with a pool of one connection."""
    made = Database(empty_url, pool_size=1)
    yield made
    await made.close()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
async def test_rows_are_those_that_sqlalchemy_gives(served: House, model: type[Tenanted]) -> None:
    table = model.__table__  # type: ignore[attr-defined]
    own = table.columns["application_id"] == bindparam("application")
    statement = select(*table.columns).where(own).order_by(*table.primary_key)
    given = {"application": served.one.application_id}
    async with served.gateway.database.reading() as reader:
        found = await fetch(reader, statement, given, execution_options=SCOPED)
        known = (await reader.execute(statement, given, execution_options=SCOPED)).all()
    assert [tuple(row) for row in found] == [tuple(row) for row in known]


async def test_constants_of_a_statement_and_what_is_given_stand_in_their_places(served: House) -> None:
    statement = select(col(Tariff.name), col(Tariff.standing_charge)).where(
        col(Tariff.superseded_at).is_(None),
        col(Tariff.application_id) == bindparam("application"),
        col(Tariff.name) == "Standard",
        col(Tariff.valid_from) <= bindparam("until"),
    )
    given = {"until": utc_now(), "application": served.one.application_id}
    async with served.gateway.database.reading() as reader:
        found = await fetch(reader, statement, given, execution_options=SCOPED)
        known = (await reader.execute(statement, given, execution_options=SCOPED)).all()
    assert [tuple(row) for row in found] == [tuple(row) for row in known] != []


async def test_a_statement_that_names_no_application_raises(served: House) -> None:
    statement = select(col(Tariff.name))
    async with served.gateway.database.reading() as reader:
        assert await fetch(reader, statement, execution_options=SCOPED)
        with pytest.raises(UnscopedStatement):
            await fetch(reader, statement)


@pytest.mark.parametrize("value", ["\0", 2**70], ids=["U+0000", "too large"])
async def test_a_value_that_cannot_be_is_bad_input(database: Database, value: Any) -> None:
    kind = "text" if isinstance(value, str) else "bigint"
    with pytest.raises(BadInput):
        async with database.reading() as reader:
            await fetch(reader, text(f"SELECT CAST(:value AS {kind})"), {"value": value})


@pytest.mark.parametrize("state", ["57P03", "53300", "08006"])
async def test_a_server_that_is_not_well_is_told_as_unavailable(database: Database, state: str) -> None:
    fault = f"DO $$ BEGIN RAISE EXCEPTION 'the server is starting up' USING ERRCODE = '{state}'; END $$"
    with pytest.raises(Unavailable):
        async with database.reading() as reader:
            await fetch(reader, text(fault))


async def test_a_server_that_lets_nobody_in_is_told_as_unavailable(postgresql_url: str) -> None:
    database = Database(make_url(postgresql_url).set(database="no_such_database").render_as_string(hide_password=False))
    with pytest.raises(Unavailable):
        await _one(database)
    await database.close()


async def test_a_fault_of_ours_is_told_as_it_is(database: Database) -> None:
    with pytest.raises(Exception, match="no_such_table"):
        async with database.reading() as reader:
            await fetch(reader, text("SELECT 1 FROM no_such_table"))
    assert await _one(database)


async def test_a_connection_that_the_server_has_closed_is_replaced(database: Database, postgresql_url: str) -> None:
    other = Database(postgresql_url)
    server_pid = await _pid(database)
    async with other.reading() as reader:
        await reader.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": server_pid})
    await asyncio.sleep(0.1)  # the end of the connection has come
    assert await _pid(database) != server_pid
    await other.close()


async def test_a_connection_that_ends_in_a_statement_is_told_and_replaced(database: Database) -> None:
    with pytest.raises(Unavailable):
        async with database.reading() as reader:
            await fetch(reader, text("SELECT pg_terminate_backend(pg_backend_pid())"))
    assert await _one(database)


async def test_whoever_is_cancelled_ends_the_statement_and_leaves_the_connection(
    database: Database, postgresql_url: str
) -> None:
    server_pid = await _pid(database)

    async def sleep() -> None:
        async with database.reading() as reader:
            await fetch(reader, text("SELECT pg_sleep(60)"))

    async with asyncio.timeout(20):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(sleep(), 0.3)
        assert await _pid(database) == server_pid


async def test_on_sqlite_too_whoever_is_cancelled_ends_the_statement(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'test.sqlite3'}", pool_size=1)

    async def count() -> None:
        async with database.reading() as reader:
            await fetch(
                reader, text("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n")
            )

    async with asyncio.timeout(20):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(count(), 0.3)
        assert await _one(database) == 1
    await database.close()


async def test_a_fault_of_sqlite_is_told_as_unavailable(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'test.sqlite3'}")
    with pytest.raises(Unavailable):
        async with database.reading() as reader:
            await fetch(reader, text("SELECT 1 FROM no_such_table"))
    assert await _one(database) == 1
    await database.close()


async def test_more_readers_than_connections_wait_for_each_other(either: Database) -> None:
    assert await asyncio.gather(*(_one(either) for _ in range(50))) == [1] * 50


async def test_a_reader_executes_by_both_ways_on_one_connection(either: Database) -> None:
    async with either.reading() as reader:
        assert (await reader.execute(text("SELECT 1"))).scalar_one() == 1
        assert [tuple(row) for row in await fetch(reader, text("SELECT 2"))] == [(2,)]
        assert (await reader.execute(text("SELECT 3"))).scalar_one() == 3


async def test_what_the_driver_executes_is_a_span(empty_url: str) -> None:
    told = []

    class Told(NoSpans):
        def statement(self, system: str, sql: str) -> AbstractContextManager[Any]:
            return heard(system, sql)

    @contextmanager
    def heard(system: str, sql: str) -> Any:
        told.append((system, sql))
        yield

    database = Database(empty_url, spans=Told())
    async with database.reading() as reader:
        await fetch(reader, text("SELECT CAST(:n AS int)"), {"n": 7})
    await database.close()
    place = "?" if database.sqlite else "$1"
    assert told == [("sqlite" if database.sqlite else "postgresql", f"SELECT CAST({place} AS int)")]


async def _one(database: Database) -> int:
    async with database.reading() as reader:
        ((found,),) = await fetch(reader, text("SELECT 1"))
    return int(found)


async def _pid(database: Database) -> int:
    async with database.reading() as reader:
        ((found,),) = await fetch(reader, text("SELECT pg_backend_pid()"))
    return int(found)
