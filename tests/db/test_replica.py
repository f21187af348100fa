"""A streaming replica for queries: they see each change that was committed before, and never fail with the replica."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from sqlalchemy import text

from tests.support.command import wattgate_in
from tests.support.encryption import TEST_KEYS
from tests.support.house import house
from tests.support.pgbouncer import pgbouncer
from tests.support.postgresql_server import CopiedServer, PostgresqlServer, replicated_server
from tests.support.scopes import EVERYTHING
from wattgate.db.connections.engine import Database
from wattgate.db.connections.reader import fetch
from wattgate.db.connections.replica import StreamingReplica, read_replica_state
from wattgate.db.connections.scoped_connection import ROW_ROLE
from wattgate.db.migrate import upgrade
from wattgate.db.scope.row_scope import RowScope, Scope
from wattgate.metrics import REPLICA_READS
from wattgate.tracer import NOOP_TRACER

Servers = tuple[PostgresqlServer, CopiedServer]

WAIT_SECONDS = 0.2
LIMIT_SECONDS = 60
"""The maximum time of a recovery. It takes about a second."""

IS_STANDBY = text("SELECT pg_is_in_recovery()")
RECORD = "mutation ($series: [NewReadings!]!) { recordReadings(series: $series) { ... on Recorded { recorded } } }"
READ = """query ($resource: ID!) { resource(resourceId: $resource) { readings(period: PT1H,
    range: {start: "2026-02-01T00:00:00Z", end: "2026-02-02T00:00:00Z"}) { columns { value } } } }"""
READ_NUMBER = text("SELECT value FROM number")


@pytest.fixture(scope="module")
async def servers() -> AsyncIterator[Servers]:
    """A primary with the schema of this version and a table of one number, and its replica."""
    async with replicated_server() as (primary, replica):
        database = Database(primary.url)
        await upgrade(database)
        async with database.session(EVERYTHING) as session:
            await session.execute(text("CREATE TABLE number (value INTEGER NOT NULL)"))
            await session.execute(text("INSERT INTO number VALUES (0)"))
            await session.execute(text(f"GRANT SELECT ON number TO {ROW_ROLE}"))
            await session.commit()
        await database.close()
        yield primary, replica


@asynccontextmanager
async def gateway(primary_url: str, replica_url: str, wait_seconds: float = WAIT_SECONDS) -> AsyncIterator[Database]:
    """Yield the database of a gateway with a replica."""
    database = Database(primary_url, pool_size=5)
    database.replica = StreamingReplica(database, Database(replica_url, pool_size=5), wait_seconds, NOOP_TRACER)
    try:
        yield database
    finally:
        await database.close()


@pytest.fixture
async def database(servers: Servers) -> AsyncIterator[Database]:
    primary, replica = servers
    async with gateway(primary.url, replica.url) as opened:
        await wait_until(opened, is_standby=True)
        yield opened


async def read(database: Database, statement: Any = IS_STANDBY, scope: Scope = EVERYTHING) -> Any:
    async with database.query_reader(scope) as reader:
        return (await fetch(reader, statement))[0][0]


async def write(database: Database) -> int:
    """Add one to the number, and return it."""
    async with database.session(EVERYTHING) as session:
        number: int = (await session.execute(text("UPDATE number SET value = value + 1 RETURNING value"))).scalar_one()
        await session.commit()
    return number


async def eventually(check: Callable[[], Awaitable[bool]]) -> None:
    """Wait until a check holds."""
    async with asyncio.timeout(LIMIT_SECONDS):
        while True:
            if await check():
                return
            await asyncio.sleep(0.02)


async def wait_until(database: Database, *, is_standby: bool) -> None:
    """Wait until queries run on the replica, or on the primary."""

    async def is_there() -> bool:
        return await read(database) is is_standby

    await eventually(is_there)


@asynccontextmanager
async def paused_replay(replica: CopiedServer) -> AsyncIterator[Callable[[], Any]]:
    """Stop the replay of the replica, which then lags behind each change."""
    connection = await asyncpg.connect(replica.url.replace("+asyncpg", ""))
    try:
        await connection.execute("SELECT pg_wal_replay_pause()")

        async def is_paused() -> bool:
            return bool(await connection.fetchval("SELECT pg_get_wal_replay_pause_state() = 'paused'"))

        await eventually(is_paused)
        yield lambda: connection.execute("SELECT pg_wal_replay_resume()")
    finally:
        await connection.execute("SELECT pg_wal_replay_resume()")
        await connection.close()


async def test_queries_run_on_the_replica_and_changes_on_the_primary(database: Database) -> None:
    assert await read(database) is True
    async with database.session(EVERYTHING) as session:
        assert (await session.execute(IS_STANDBY)).scalar_one() is False
    async with database.reader(EVERYTHING) as reader:  # credentials
        assert (await fetch(reader, IS_STANDBY))[0][0] is False
    async with database.query_reader(EVERYTHING) as reader:
        assert (await reader.execute(text("SELECT pg_is_in_recovery()"))).scalar_one() is True


async def test_row_security_holds_on_the_replica(database: Database) -> None:
    statement = text("SELECT current_user || ' ' || current_setting('wattgate.application') || pg_is_in_recovery()")
    for application in ("one", "other"):
        assert await read(database, statement, RowScope(application)) == f"{ROW_ROLE} {application}true"
    assert await read(database, text("SELECT current_user::text")) == "postgres"


async def test_a_query_sees_each_change_that_was_committed_before_it_began(servers: Servers) -> None:
    """Two gateways write and read at the same time, while the replica replays each commit late."""
    primary, replica = servers
    delay = await asyncpg.connect(replica.url.replace("+asyncpg", ""))
    await delay.execute("ALTER SYSTEM SET recovery_min_apply_delay = '20ms'")
    await delay.execute("SELECT pg_reload_conf()")
    committed = 0
    places: list[bool] = []

    async def change(database: Database) -> None:
        nonlocal committed
        for _ in range(60):
            committed = max(committed, await write(database))
            await asyncio.sleep(0.005)

    async def query(database: Database) -> None:
        for _ in range(60):
            before = committed
            async with database.query_reader(EVERYTHING) as reader:
                places.append((await fetch(reader, IS_STANDBY))[0][0])
                assert (await fetch(reader, READ_NUMBER))[0][0] >= before

    async with gateway(primary.url, replica.url, 5) as one, gateway(primary.url, replica.url, 5) as other:
        await asyncio.gather(change(one), change(other), *[query(one) for _ in range(4)], *[query(other) for _ in "ab"])
    await delay.execute("ALTER SYSTEM RESET recovery_min_apply_delay")
    await delay.execute("SELECT pg_reload_conf()")
    await delay.close()
    assert all(places)


async def test_a_replica_that_lags_is_left_until_it_has_caught_up(
    database: Database, servers: Servers, caplog: pytest.LogCaptureFixture
) -> None:
    _, replica = servers
    caplog.set_level("INFO")
    async with paused_replay(replica) as resume:
        assert await read(database) is True  # nothing has changed, so the replica has everything
        number = await write(database)
        for _ in range(5):
            assert await read(database, READ_NUMBER) == number
            assert await read(database) is False
        state = await read_replica_state(database)
        assert state is not None
        assert "bytes of the write-ahead log" in (state.warning or "")
        await resume()
        await wait_until(database, is_standby=True)
    assert await read(database, READ_NUMBER) == number
    messages = [record.getMessage() for record in caplog.records if "read replica" in record.getMessage()]
    assert [message.partition(" lacks ")[0] for message in messages] == [
        "The read replica",
        "The read replica is used again.",
    ]


async def test_queries_survive_the_loss_of_the_replica(database: Database, servers: Servers) -> None:
    _, replica = servers
    stop, started = asyncio.Event(), asyncio.Event()
    places: list[bool] = []

    async def query() -> None:
        while not stop.is_set():
            places.append(await read(database))
            started.set()
            await asyncio.sleep(0.001)

    slow = asyncio.create_task(read(database, text("SELECT pg_is_in_recovery() FROM pg_sleep(1)")))
    clients = [asyncio.create_task(query()) for _ in range(3)]
    try:
        await started.wait()
        await replica.stop()
        await wait_until(database, is_standby=False)
        assert await slow is False, "the statement did not run again on the primary"
    finally:
        await replica.start()
    await wait_until(database, is_standby=True)
    stop.set()
    await asyncio.gather(*clients)
    assert {True, False} <= set(places)


async def test_a_statement_that_only_the_replica_refuses_runs_on_the_primary(servers: Servers) -> None:
    primary, replica = servers
    async with gateway(primary.url, replica.url, wait_seconds=LIMIT_SECONDS) as database:
        await wait_until(database, is_standby=True)
        async with database.query_reader(EVERYTHING) as reader:
            assert (await fetch(reader, IS_STANDBY))[0][0] is True
            assert isinstance((await fetch(reader, text("SELECT pg_current_xact_id()::text")))[0][0], str)
            assert (await fetch(reader, IS_STANDBY))[0][0] is False
            assert (await reader.execute(IS_STANDBY)).scalar_one() is False
        assert await read(database) is True, "the error of a statement is no failure of the replica"
        with pytest.raises(asyncpg.UndefinedTableError):
            await read(database, text("SELECT * FROM missing"))


async def test_a_connection_without_the_role_of_the_policies_is_replaced(database: Database) -> None:
    """A connection that was opened before the upgrade created the role would not restrict its statements."""
    assert isinstance(database.replica, StreamingReplica)
    connection = await database.replica.database.borrow_connection(None)
    connection.driver.row_role = "none"
    connection.close()
    statement = text("SELECT current_user::text")
    assert [await read(database, statement, RowScope("one")) for _ in range(3)] == [ROW_ROLE] * 3


@pytest.mark.long("two servers of its own; reads of the replica stay in the short form")
async def test_a_gateway_answers_from_the_replica_what_it_has_just_stored() -> None:
    """GraphQL over HTTP: each query follows its mutation, and sees the reading and its cost."""
    async with replicated_server() as (primary, replica):
        served = REPLICA_READS.labels("replica")._value.get()
        async with house(primary.url, database_replica_url=replica.url, database_replica_wait=5) as home:
            tenant = home.one
            resource = await tenant.add_resource()
            for number in range(20):
                at = f"2026-02-01T{number:02}:00:00Z"
                series = [{"resourceId": resource, "readings": [{"at": at, "value": str(number)}]}]
                stored = await home.graphql(RECORD, tenant.headers["application"], series=series)
                assert stored["data"]["recordReadings"]["recorded"] == 1, stored
                found = await home.graphql(READ, tenant.headers["application"], resource=resource)
                values = found["data"]["resource"]["readings"]["columns"]["value"]
                assert [value for value in values if value is not None][-1] == number, found
        assert REPLICA_READS.labels("replica")._value.get() - served >= 20


@pytest.mark.long("two servers of its own; reads of the replica stay in the short form")
async def test_a_promoted_replica_is_not_used(caplog: pytest.LogCaptureFixture) -> None:
    async with replicated_server() as (primary, replica):
        async with gateway(primary.url, replica.url) as database:
            await upgrade(database)
            await wait_until(database, is_standby=True)
            await replica.promote()
            timeline = text("SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)")
            await eventually(lambda: has_written(database))  # so that each connection reads the position again
            assert [await read(database, timeline) for _ in range(8)] == ["00000001"] * 8
            assert "is not a standby" in caplog.text


async def has_written(database: Database) -> bool:
    async with database.session(EVERYTHING) as session:
        await session.execute(text("CREATE TABLE written (value INTEGER)"))
        await session.commit()
    return True


@pytest.mark.parametrize("command", ["serve", "worker", "doctor"])
async def test_a_server_that_is_no_replica_is_named_with_the_remedy(
    tmp_path: Path, servers: Servers, postgresql_url: str, command: str
) -> None:
    primary, _ = servers
    for url, problem in (
        (primary.url, "is not a standby, so it does not receive the changes of the primary"),
        (postgresql_url, "belongs to another cluster, with other data"),
    ):
        settings = {"DATABASE_URL": primary.url, "DATABASE_REPLICA_URL": url, "SECRET_KEYS": TEST_KEYS}
        refused = await asyncio.to_thread(wattgate_in, tmp_path, command, **settings)
        assert refused.returncode == 1, refused.stderr
        assert problem in refused.stdout + refused.stderr
        assert "set WATTGATE_DATABASE_REPLICA_URL to a streaming replica" in refused.stdout + refused.stderr


async def test_another_cluster_answers_no_query(servers: Servers, postgresql_url: str) -> None:
    primary, _ = servers
    async with gateway(primary.url, postgresql_url) as database:
        assert [await read(database, text("SELECT count(*) FROM number")) for _ in range(3)] == [1, 1, 1]


async def test_doctor_reports_the_replica(tmp_path: Path, servers: Servers) -> None:
    primary, replica = servers
    settings = {"DATABASE_URL": primary.url, "SECRET_KEYS": TEST_KEYS}

    async def result(url: str) -> tuple[str, str]:
        run = await asyncio.to_thread(wattgate_in, tmp_path, "doctor", "--json", DATABASE_REPLICA_URL=url, **settings)
        (row,) = [row for row in json.loads(run.stdout) if row["subject"] == "read replica"]
        return row["state"], row["text"]

    async def has_caught_up() -> bool:  # on a busy machine the replay takes longer than the doctor waits
        return await result(replica.url) == ("ok", "has all changes of the primary")

    await eventually(has_caught_up)
    state, message = await result(replica.url + "/missing")
    assert (state, message.partition(":")[0]) == ("warning", "does not answer")
    async with pgbouncer(primary.url) as pooler:
        state, message = await result(pooler.url_of(replica.url))
    assert (state, message.partition(",")[0]) == ("error", "is behind a pooler of transactions")
    async with paused_replay(replica):
        async with gateway(primary.url, replica.url) as database:
            await write(database)
        state, message = await result(replica.url)
    assert (state, message.partition(" ")[0]) == ("warning", "lacks")
