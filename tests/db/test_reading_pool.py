"""The pool of connections: readers and sessions share them, and none of them outlives its pool."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy import event, text

from tests.support.scopes import EVERYTHING
from wattgate.db.connections import reading_pool
from wattgate.db.connections.engine import Database
from wattgate.db.connections.reader import fetch
from wattgate.db.connections.reading_pool import ReadingPool
from wattgate.db.scope.row_scope import RowScope, Scope
from wattgate.errors import Unavailable

MAX_CONNECTIONS = 3

PID = text("SELECT pg_backend_pid()")


@pytest.fixture
async def database(postgresql_url: str) -> AsyncIterator[Database]:
    database = Database(postgresql_url, pool_size=MAX_CONNECTIONS)
    yield database
    await database.close()


def pool_of(database: Database) -> ReadingPool:
    pool = database.autocommit_engine.pool
    assert isinstance(pool, ReadingPool)
    return pool


async def read_pid(database: Database) -> int:
    """Return the ID of the server process of a reader's connection."""
    async with database.reader(EVERYTHING) as reader:
        ((pid,),) = await fetch(reader, PID)
        return int(pid)


async def write_pid(database: Database) -> int:
    async with database.session(EVERYTHING) as session:
        return int((await session.execute(PID)).scalar_one())


async def read_at_once(database: Database, count: int) -> set[int]:
    """Hold some readers at the same time. Return the IDs of their server processes."""
    barrier = asyncio.Barrier(count)

    async def read() -> int:
        async with database.reader(EVERYTHING) as reader:
            await barrier.wait()
            ((pid,),) = await fetch(reader, PID)
            return int(pid)

    return set(await asyncio.gather(*(read() for _ in range(count))))


async def test_readers_and_sessions_share_the_connections_of_the_pool(database: Database) -> None:
    pids = await read_at_once(database, MAX_CONNECTIONS)
    assert len(pids) == MAX_CONNECTIONS
    last = await read_pid(database)
    assert [await read_pid(database) for _ in range(5)] == [last] * 5  # the one that was returned last
    async with asyncio.timeout(60):
        async with database.session(EVERYTHING), database.session(EVERYTHING):
            assert {await write_pid(database), await read_pid(database)} <= pids
            async with database.reader(EVERYTHING):
                assert pool_of(database).checkedout() == MAX_CONNECTIONS
                waiting = asyncio.gather(write_pid(database), read_pid(database))
                await asyncio.sleep(0)
                assert not waiting.done()
            assert set(await waiting) <= pids
        mixed = ((read_pid if number % 3 else write_pid)(database) for number in range(300))
        assert set(await asyncio.gather(*mixed)) <= pids
    assert pool_of(database).checkedout() == 0


async def test_pool_without_a_free_connection_refuses_a_reader_after_its_timeout(database: Database) -> None:
    database.shares.max_wait_seconds = 0.01
    async with database.session(EVERYTHING), database.reader(EVERYTHING), database.reader(EVERYTHING):
        with pytest.raises(Unavailable):
            await read_pid(database)
    assert len(await read_at_once(database, MAX_CONNECTIONS)) == MAX_CONNECTIONS


async def test_reader_that_waits_and_is_cancelled_takes_no_connection(database: Database) -> None:
    async with asyncio.timeout(60):
        async with database.reader(EVERYTHING), database.reader(EVERYTHING):
            held = database.reader(EVERYTHING)
            await held.__aenter__()
            cancelled, other = (asyncio.create_task(read_pid(database)) for _ in range(2))
            await asyncio.sleep(0)
            assert len(database.shares._waiting) == 2
            await held.__aexit__(None, None, None)  # gives the connection to the first that waits, in the next turn
            cancelled.cancel()
            await other
            assert cancelled.cancelled()
        assert pool_of(database).checkedout() == 0
        assert len(await read_at_once(database, MAX_CONNECTIONS)) == MAX_CONNECTIONS


async def test_cancelled_statement_leaves_a_connection_that_works(database: Database) -> None:
    """Cancel it at each of its steps: at the first, it waits for a connection or a ping; later, for its result."""
    pids = await read_at_once(database, MAX_CONNECTIONS)
    for turns in range(12):
        reading = asyncio.create_task(read_pid(database))
        for _ in range(turns):
            await asyncio.sleep(0)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        assert pool_of(database).checkedout() == 0
    assert await read_at_once(database, MAX_CONNECTIONS) == pids


async def test_cancelled_ping_returns_the_connection(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_pool, "PING_AFTER_SECONDS", 0)
    await read_pid(database)
    reading = asyncio.create_task(read_pid(database))
    await asyncio.sleep(0)  # it waits for the answer to the ping now
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert reading.cancelled()
    assert pool_of(database).checkedout() == 0
    assert len(await read_at_once(database, MAX_CONNECTIONS)) == MAX_CONNECTIONS


async def test_only_connection_that_was_unused_for_long_is_pinged(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries: list[str] = []
    monkeypatch.setattr(reading_pool, "PING_AFTER_SECONDS", 60)
    async with database.reader(EVERYTHING) as reader:
        reader._lent.driver.add_query_logger(lambda query: queries.append(query.query))
    await read_pid(database)
    await asyncio.sleep(0)  # the driver logs in the next turn of the event loop
    assert queries == ["SELECT pg_backend_pid()"]
    monkeypatch.setattr(reading_pool, "PING_AFTER_SECONDS", 0)
    await read_pid(database)
    await asyncio.sleep(0)
    assert queries == ["SELECT pg_backend_pid()", "SELECT 1", "SELECT pg_backend_pid()"]


async def test_dead_connection_is_replaced(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver has not noticed the end of the connection, so only the ping or a failed statement shows it."""
    for interval in (0, 60):
        monkeypatch.setattr(reading_pool, "PING_AFTER_SECONDS", interval)
        pid = await read_pid(database)
        async with database.reader(EVERYTHING) as reader:
            reader._lent.driver._transport.abort()
        if interval:
            await asyncio.sleep(0)  # the driver notices it now
        assert await read_pid(database) != pid


async def test_connection_that_ends_within_a_reader_is_replaced_for_the_next(database: Database) -> None:
    pid = await read_pid(database)
    async with database.reader(EVERYTHING) as reader:
        reader._lent.invalidate()
        with pytest.raises(asyncpg.InterfaceError):
            await fetch(reader, PID)
    assert await read_pid(database) != pid
    assert pool_of(database).checkedout() == 0


async def test_connections_of_a_lost_server_are_all_replaced(database: Database) -> None:
    """SQLAlchemy concludes from one lost connection that the others are lost too."""
    pids = await read_at_once(database, MAX_CONNECTIONS)
    with pytest.raises(Unavailable):
        async with database.reader(EVERYTHING) as reader:
            await reader.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
    assert pids.isdisjoint(await read_at_once(database, MAX_CONNECTIONS))


async def test_failed_connection_attempt_keeps_the_place_in_the_pool(database: Database) -> None:
    engine = database.autocommit_engine.sync_engine

    def refuse(dialect: object, record: object, arguments: object, options: dict[str, object]) -> None:
        options["port"] = 1

    await read_pid(database)
    async with database.reader(EVERYTHING) as reader:
        reader._lent.invalidate()
    event.listen(engine, "do_connect", refuse)
    for _ in range(MAX_CONNECTIONS + 1):
        with pytest.raises(Unavailable):
            await read_pid(database)
    event.remove(engine, "do_connect", refuse)
    assert len(await read_at_once(database, MAX_CONNECTIONS)) == MAX_CONNECTIONS


async def test_reader_that_has_ended_uses_no_connection_of_another(database: Database) -> None:
    async with database.reader(EVERYTHING) as reader:
        connection = reader._lent
        assert connection.driver.scope_holder is not None
        driver = connection.driver
    assert driver.scope_holder is None
    connection.close()  # a second time
    assert pool_of(database).checkedin() == 1
    with pytest.raises(asyncpg.InterfaceError):
        await fetch(reader, PID)


@pytest.mark.parametrize("is_sqlite", [True, False])
async def test_connection_in_use_when_the_pool_closes_is_closed_on_its_return(
    is_sqlite: bool, postgresql_url: str, tmp_path: Path
) -> None:
    database = Database(f"sqlite:///{tmp_path / 'test.sqlite3'}" if is_sqlite else postgresql_url)
    one = text("SELECT 1")
    async with database.reader(EVERYTHING) as reader, database.session(EVERYTHING) as session:
        await fetch(reader, one)
        await session.execute(one)
        drivers = [reader._lent.driver, (await (await session.connection()).get_raw_connection()).driver_connection]
        await database.close()
        await fetch(reader, one)  # it may end its work
    assert pool_of(database).checkedin() == 0
    async with database.reader(EVERYTHING) as reader:
        assert reader._lent.driver not in drivers
    if not is_sqlite:
        assert all(driver.is_closed() for driver in drivers)
    await database.close()


async def test_one_application_leaves_connections_to_others(postgresql_url: str) -> None:
    """Its sessions and readers have three of four connections. Those whose application is not known share as well."""
    database = Database(postgresql_url, pool_size=4)
    for busy in (RowScope("busy"), EVERYTHING):
        async with database.session(busy), database.reader(busy), database.reader(busy):
            opened = asyncio.Event()

            async def open_another(scope: Scope, opened: asyncio.Event = opened) -> None:
                async with database.session(scope):
                    opened.set()

            waiting = asyncio.create_task(open_another(busy))
            for other in (RowScope("other"), RowScope("one more")):
                async with asyncio.timeout(60), database.reader(other) as reader:
                    assert await fetch(reader, PID)
            assert not opened.is_set()
        await waiting
    assert pool_of(database).checkedout() == database.shares.owner_count == 0
    await database.close()
