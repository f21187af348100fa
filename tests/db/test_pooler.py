"""Poolers of transactions: PgBouncer runs each transaction in any process of the server."""

import asyncio
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy import bindparam, text

from tests.support.command import wattgate_in
from tests.support.encryption import TEST_KEYS
from tests.support.pgbouncer import PgBouncer, pgbouncer
from tests.support.scopes import EVERYTHING
from tests.support.servers import database_on
from wattgate.db.connections.engine import Database
from wattgate.db.connections.pooler import pools_transactions
from wattgate.db.connections.reader import fetch
from wattgate.db.connections.scoped_connection import ROW_ROLE
from wattgate.db.migrate import is_current, upgrade
from wattgate.db.scope.row_scope import RowScope
from wattgate.errors import Unavailable

CLIENTS = 12
STATEMENTS_OF_EACH = 150

SETTINGS = (
    "SELECT current_user::text, current_setting('wattgate.application', true), current_setting('jit'), "
    "(SELECT count(*) FROM pg_prepared_statements)"
)


@pytest.fixture(scope="module")
async def server(postgresql_url: str, postgresql_template: str) -> AsyncIterator[str]:
    async with database_on(postgresql_url, postgresql_template) as url:
        yield url


@pytest.fixture(scope="module")
async def pooler(postgresql_url: str) -> AsyncIterator[PgBouncer]:
    """A pooler of transactions with two connections to the server."""
    async with pgbouncer(postgresql_url) as running:
        yield running


@pytest.fixture
async def pooled(server: str, pooler: PgBouncer) -> AsyncIterator[Database]:
    database = Database(pooler.url_of(server), pool_size=CLIENTS, has_transaction_pooler=True)
    try:
        yield database
    finally:
        await database.close()


async def run_client(database: Database, client: int) -> None:
    """Run statements of all kinds. Each result has a value of this client, so a mixed-up one is noticed."""
    scope = RowScope(f"application {client}")
    constant = text("SELECT :value || current_setting('wattgate.application')").bindparams(bindparam("value"))
    for number in range(STATEMENTS_OF_EACH // 6):
        wanted = f"{number} application {client}"
        async with database.reader(scope) as reader:
            assert (await fetch(reader, constant, {"value": f"{number} "}))[0][0] == wanted
            several = text(f"SELECT :value || current_setting('wattgate.application'), {number % 7}")
            assert (await reader.execute(several, {"value": f"{number} "})).one() == (wanted, number % 7)
        async with database.session(scope) as session:
            for _ in range(2):
                assert (await session.execute(constant, {"value": f"{number} "})).scalar_one() == wanted
            user = (await session.execute(text("SELECT current_user::text"))).scalar_one()
            assert user == ROW_ROLE
        async with database.session(EVERYTHING) as session:
            assert (await session.execute(text("SELECT CAST(:n AS integer)"), {"n": client})).scalar_one() == client


async def test_statements_of_many_clients_run_on_two_processes(pooled: Database) -> None:
    await asyncio.gather(*[run_client(pooled, client) for client in range(CLIENTS)])


async def test_nothing_remains_in_a_process_of_the_server(pooled: Database, server: str, pooler: PgBouncer) -> None:
    await asyncio.gather(*[run_client(pooled, client) for client in range(4)])
    observer = await asyncpg.connect(pooler.url_of(server).replace("+asyncpg", ""), statement_cache_size=0)
    try:
        for _ in range(10):
            user, application, jit, statements = await observer.fetchrow(SETTINGS)
            assert (user, application or "", jit, statements) == ("postgres", "", "on", 0)
    finally:
        await observer.close()


async def test_a_cancelled_statement_leaves_the_scope_of_others_alone(pooled: Database) -> None:
    scope = RowScope("cancelled")
    for number in count():
        async with pooled.reader(scope) as reader:
            waiting = asyncio.ensure_future(fetch(reader, text("SELECT pg_sleep(30)")))
            for _ in range(number):
                await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        async with pooled.reader(EVERYTHING) as reader:
            rows = await fetch(reader, text("SELECT current_user::text"))
            assert rows[0][0] == "postgres"
        if number == 12:
            return


async def test_types_of_the_database_are_read_in_one_process(pooled: Database) -> None:
    """asyncpg reads a type that it does not know, and must not parse the statement in another process than it runs."""
    async with pooled.session(EVERYTHING) as session:
        await session.execute(text("CREATE TYPE phase AS ENUM ('one', 'three')"))
        await session.commit()

    async def read() -> None:
        async with pooled.reader(EVERYTHING) as reader:
            assert (await fetch(reader, text("SELECT 'three'::phase AS phase")))[0][0] == "three"
            assert (await reader.execute(text("SELECT ARRAY['one'::phase] AS phases"))).scalar_one() == ["one"]

    await asyncio.gather(*[read() for _ in range(CLIENTS)])


@pytest.mark.parametrize("mode", ["transaction", "statement", "session", "none"])
async def test_the_mode_of_a_pooler_is_found(postgresql_url: str, server: str, mode: str) -> None:
    if mode == "none":
        assert not await pools_transactions(Database(server))
        return
    for pool_size in (1, 2, 5):
        async with pgbouncer(postgresql_url, mode=mode, pool_size=pool_size) as running:
            assert await pools_transactions(Database(running.url_of(server))) is (mode != "session")


async def test_the_mode_is_found_while_others_use_the_pooler(pooled: Database) -> None:
    clients = asyncio.gather(*[run_client(pooled, client) for client in range(4)])
    for _ in range(3):
        assert await pools_transactions(Database(pooled.url.render_as_string(hide_password=False)))
    await clients


@pytest.mark.parametrize("mode", ["session", "none"])
async def test_the_setting_works_without_such_a_pooler(postgresql_url: str, server: str, mode: str) -> None:
    async with pgbouncer(postgresql_url, mode="session", pool_size=4) as running:
        url = running.url_of(server) if mode == "session" else server
        database = Database(url, pool_size=3, has_transaction_pooler=True)
        await asyncio.gather(*[run_client(database, client) for client in range(6)])
        await database.close()


@pytest.mark.parametrize("command", ["serve", "worker", "doctor"])
async def test_a_pooler_without_the_setting_is_named_with_the_remedy(
    tmp_path: Path, server: str, pooler: PgBouncer, command: str
) -> None:
    settings = {"DATABASE_URL": pooler.url_of(server), "SECRET_KEYS": TEST_KEYS}
    refused = await asyncio.to_thread(wattgate_in, tmp_path, command, **settings)
    assert refused.returncode == 1, refused.stderr
    assert "set WATTGATE_DATABASE_POOLER=transaction" in refused.stdout + refused.stderr


async def test_a_gateway_without_the_setting_logs_the_remedy_when_it_fails_later(
    server: str, pooler: PgBouncer, caplog: pytest.LogCaptureFixture
) -> None:
    """A pooler may change its mode while the gateway runs. The message names the setting."""
    database = Database(pooler.url_of(server), pool_size=CLIENTS)
    clients = [run_client(database, client) for client in range(CLIENTS)]
    results = await asyncio.gather(*clients, return_exceptions=True)
    await database.close()
    assert any(isinstance(result, Unavailable) for result in results), results
    assert "set WATTGATE_DATABASE_POOLER=transaction" in caplog.text


async def test_an_upgrade_runs_through_the_pooler(postgresql_url: str, pooler: PgBouncer) -> None:
    async with database_on(postgresql_url) as url:
        database = Database(pooler.url_of(url), has_transaction_pooler=True)
        await upgrade(database)
        await upgrade(database)
        assert await is_current(database)
        assert await database.has_row_security()
        await asyncio.gather(*[run_client(database, client) for client in range(4)])
        await database.close()


async def test_statements_run_again_after_a_restart_of_the_pooler(postgresql_url: str, server: str) -> None:
    async with pgbouncer(postgresql_url) as running:
        database = Database(running.url_of(server), pool_size=3, has_transaction_pooler=True)
        await asyncio.gather(*[run_client(database, client) for client in range(3)])
        await running.stop()
        with pytest.raises(Unavailable):
            await run_client(database, 0)
        await running.start()
        await asyncio.gather(*[run_client(database, client) for client in range(3)])
        await database.close()
