"""BEGIN of a transaction on PostgreSQL: it is sent with the first statement, whatever that is."""

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from tests.support.scopes import EVERYTHING
from tests.support.servers import connected, database_on
from wattgate.db.connections.engine import Database
from wattgate.db.connections.engine_errors import translate_error
from wattgate.db.connections.reader import transaction_reader
from wattgate.db.connections.scoped_connection import Locks, ScopeResponses
from wattgate.db.scope.row_scope import RowScope
from wattgate.errors import Unavailable

INSERT = "INSERT INTO probe VALUES (1)"


async def driver_of(session: AsyncSession) -> Any:
    return (await (await session.connection()).get_raw_connection()).driver_connection


async def copy_in(session: AsyncSession) -> None:
    await begin(session)
    await (await driver_of(session)).copy_to_table("probe", source=io.BytesIO(b"1\n"))


async def begin(session: AsyncSession) -> None:
    """Let the transaction begin for asyncpg, so that the next message is the first one of it."""
    await transaction_reader(session)


async def copy_out(session: AsyncSession) -> None:
    await begin(session)
    await (await driver_of(session)).copy_from_query("SELECT 1", output=io.BytesIO())
    await session.execute(text(INSERT))


async def simple_query(session: AsyncSession) -> None:
    await begin(session)
    await (await driver_of(session)).execute(INSERT)


async def statement_of_sqlalchemy(session: AsyncSession) -> None:
    await session.execute(text(INSERT))


async def statement_of_the_driver(session: AsyncSession) -> None:
    await (await transaction_reader(session)).fetch_sql(INSERT, ())


async def several_rows(session: AsyncSession) -> None:
    await (await session.connection()).execute(text("INSERT INTO probe VALUES (:n)"), [{"n": 1}, {"n": 2}])


async def savepoint(session: AsyncSession) -> None:
    async with session.begin_nested():
        await session.execute(text(INSERT))


async def cursor(session: AsyncSession) -> None:
    result = await session.stream(text("SELECT generate_series(1, 120)"))
    assert len(await result.all()) == 120
    await session.execute(text(INSERT))


async def statement_after_one_that_was_not_sent(session: AsyncSession) -> None:
    reader = await transaction_reader(session)
    with pytest.raises(asyncpg.DataError):
        await reader.fetch_sql("SELECT $1::int", ("no number",))
    await session.execute(text(INSERT))


FIRST_STATEMENTS: list[Callable[[AsyncSession], Awaitable[None]]] = [
    copy_in,
    copy_out,
    simple_query,
    statement_of_sqlalchemy,
    statement_of_the_driver,
    several_rows,
    savepoint,
    cursor,
    statement_after_one_that_was_not_sent,
]


@pytest.fixture(scope="module")
async def probe_url(postgresql_url: str) -> AsyncIterator[str]:
    async with database_on(postgresql_url) as url, connected(url) as database:
        async with database.session(EVERYTHING) as session:
            await session.execute(text("CREATE TABLE probe (value int)"))
            await session.commit()
        yield url


async def count_rows(database: Database) -> int:
    async with database.session(EVERYTHING) as session:
        return int((await session.execute(text("SELECT count(*) FROM probe"))).scalar_one())


@pytest.mark.parametrize("has_transaction_pooler", [False, True])
async def test_each_first_statement_is_in_the_transaction(
    probe_url: str, has_transaction_pooler: bool, subtests: pytest.Subtests
) -> None:
    database = Database(probe_url, pool_size=1, has_transaction_pooler=has_transaction_pooler)
    try:
        for first in FIRST_STATEMENTS:
            with subtests.test(first.__name__):
                before = await count_rows(database)
                async with database.session(EVERYTHING) as session:
                    await first(session)
                    assert (await driver_of(session)).is_in_transaction()
                assert await count_rows(database) == before
                async with database.session(EVERYTHING) as session:
                    await first(session)
                    await session.commit()
                assert await count_rows(database) > before
    finally:
        await database.close()


@pytest.mark.parametrize("end", ["commit", "rollback", "leave"])
async def test_transaction_without_a_statement_ends(probe_url: str, end: str) -> None:
    async with connected(probe_url) as database:
        async with database.session(EVERYTHING) as session:
            await begin(session)
            driver = await driver_of(session)
            assert driver.is_in_transaction()
            if end != "leave":
                await getattr(session, end)()
        assert not driver.is_in_transaction()
        await count_rows(database)  # the connection serves the next session


async def test_first_statement_takes_one_round_trip_with_its_begin_locks_and_scope(
    probe_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[bytes] = []
    receive = ScopeResponses.data_received

    def data_received(responses: ScopeResponses, data: bytes) -> None:
        received.append(data)
        receive(responses, data)

    async with connected(probe_url) as database:
        for _ in range(2):  # the first time also prepares the statement
            async with database.session(RowScope("one")) as session:
                monkeypatch.setattr(ScopeResponses, "data_received", data_received)
                received.clear()
                reader = await transaction_reader(session)
                reader.lock_first(Locks(1, 2))
                assert [list(row) for row in await reader.fetch_sql("SELECT 1", ())] == [[1]]
                answers = b"".join(received)
                monkeypatch.undo()
        assert answers.count(b"Z\0\0\0\x05T") == 1  # ReadyForQuery, in a transaction
        assert answers.count(b"Z\0\0\0\x05") == 1
        assert answers.count(b"BEGIN\0") == 1


async def test_transaction_ends_whose_first_statement_was_cancelled(probe_url: str) -> None:
    async with connected(probe_url) as database:
        async with database.session(EVERYTHING) as holder:
            await holder.execute(text("SELECT pg_advisory_xact_lock(77)"))
            async with database.session(EVERYTHING) as session:
                reader = await transaction_reader(session)
                reader.lock_first(Locks(alone=77))
                waiting = asyncio.create_task(reader.fetch_sql(INSERT, ()))
                async with asyncio.timeout(60):
                    while not await is_waiting(holder):  # noqa: ASYNC110 (the server has no event)
                        await asyncio.sleep(0.01)
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
                await session.rollback()
                assert (await session.execute(text("SELECT 5"))).scalar_one() == 5
        await count_rows(database)  # the connection serves the next session


def test_connection_that_ends_within_a_statement_is_unavailable() -> None:
    error = asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is in progress")
    assert isinstance(translate_error(error), Unavailable)


async def is_waiting(session: AsyncSession) -> bool:
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 77 AND NOT granted"
    return bool((await session.execute(text(waiting))).scalar_one())
