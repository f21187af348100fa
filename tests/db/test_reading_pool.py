"""The pool of PostgreSQL: readers and sessions share its connections, and nobody waits for an idle one."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import text

from tests.support.scopes import EVERYTHING
from wattgate.db import reading_pool
from wattgate.db.engine import Database
from wattgate.db.reader import fetch
from wattgate.db.reading_pool import ReadingPool, driver_of

MAX_CONNECTIONS = 3


@pytest.fixture
async def database(postgresql_url: str) -> AsyncIterator[Database]:
    database = Database(postgresql_url, pool_size=MAX_CONNECTIONS)
    yield database
    await database.close()


async def read_pid(database: Database) -> int:
    """Return the ID of the server process of a reader's connection."""
    async with database.reader(EVERYTHING) as reader:
        ((pid,),) = await fetch(reader, text("SELECT pg_backend_pid()"))
        return int(pid)


async def write_pid(database: Database) -> int:
    async with database.session(EVERYTHING) as session:
        return int((await session.execute(text("SELECT pg_backend_pid()"))).scalar_one())


async def read_at_once(database: Database, count: int) -> set[int]:
    """Hold some readers at the same time. Return the IDs of their server processes."""
    barrier = asyncio.Barrier(count)

    async def read() -> int:
        async with database.reader(EVERYTHING) as reader:
            await barrier.wait()
            ((pid,),) = await fetch(reader, text("SELECT pg_backend_pid()"))
            return int(pid)

    return set(await asyncio.gather(*(read() for _ in range(count))))


async def test_reader_takes_the_connection_that_was_returned_last(database: Database) -> None:
    pids = await read_at_once(database, MAX_CONNECTIONS)
    assert len(pids) == MAX_CONNECTIONS
    last = await read_pid(database)
    assert [await read_pid(database) for _ in range(5)] == [last] * 5


async def test_sessions_take_idle_connections_of_readers(database: Database) -> None:
    pids = await read_at_once(database, MAX_CONNECTIONS)
    async with asyncio.timeout(20):
        async with database.session(EVERYTHING), database.session(EVERYTHING):
            assert {await write_pid(database), await read_pid(database)} <= pids


async def test_waiting_session_gets_the_connection_that_a_reader_returns(database: Database) -> None:
    async with database.session(EVERYTHING), database.session(EVERYTHING):
        async with database.reader(EVERYTHING):
            waiting = asyncio.create_task(write_pid(database))
            await asyncio.sleep(0)
            assert not waiting.done()
        async with asyncio.timeout(20):
            await waiting


async def test_readers_and_sessions_together_stay_within_the_limit(database: Database) -> None:
    async with asyncio.timeout(60):
        pids = await asyncio.gather(*((read_pid if n % 3 else write_pid)(database) for n in range(300)))
    assert len(set(pids)) <= MAX_CONNECTIONS


async def test_only_connection_that_was_unused_for_long_is_pinged(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries: list[str] = []
    async with database.reader(EVERYTHING) as reader:
        driver_of(reader._pool_connection).add_query_logger(lambda query: queries.append(query.query))  # type: ignore[attr-defined]
    await read_pid(database)
    await asyncio.sleep(0)  # the driver logs in the next turn of the event loop
    assert queries == ["SELECT pg_backend_pid()"]
    monkeypatch.setattr(reading_pool, "PING_AFTER_SECONDS", 0)
    await read_pid(database)
    await asyncio.sleep(0)  # the driver logs in the next turn of the event loop
    assert queries == ["SELECT pg_backend_pid()", "SELECT 1", "SELECT pg_backend_pid()"]


async def test_dead_connection_is_replaced_by_the_ping(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement fails on the connection, but the driver has not noticed its end yet."""
    monkeypatch.setattr(reading_pool, "PING_AFTER_SECONDS", 0)
    pid = await read_pid(database)
    async with database.reader(EVERYTHING) as reader:
        driver_of(reader._pool_connection)._transport.abort()  # type: ignore[attr-defined]
    assert await read_pid(database) != pid


async def test_cancelled_ping_returns_the_connection(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_pool, "PING_AFTER_SECONDS", 0)
    await read_pid(database)
    pool = database.autocommit_engine.pool
    assert isinstance(pool, ReadingPool)
    reading = asyncio.create_task(read_pid(database))
    await asyncio.sleep(0)  # it waits for the answer to the ping now
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert reading.cancelled()
    assert pool.checkedout() == 0
    assert len(await read_at_once(database, MAX_CONNECTIONS)) == MAX_CONNECTIONS


async def test_returned_connection_has_no_scope(database: Database) -> None:
    async with database.reader(EVERYTHING):
        pass
    pool = database.autocommit_engine.pool
    assert isinstance(pool, ReadingPool)
    idle = pool.take()
    assert idle is not None
    assert driver_of(idle[0]).scope_holder is None
    pool.put(idle[0])
