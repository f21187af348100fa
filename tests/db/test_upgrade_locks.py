"""Upgrades on PostgreSQL: a long transaction delays them, and they do not block the statements of gateways."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from tests.support.servers import connected, database_on
from wattgate.app.settings import Settings
from wattgate.db.connections.engine import Database
from wattgate.db.migrate import LOCK_ATTEMPTS, LOCK_SECONDS, upgrade
from wattgate.db.row_security import POLICY
from wattgate.errors import Unavailable

READ = text("SELECT count(*) FROM token")
WAITING = text("SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = :mode")
OUTDATED = text("SELECT count(*) FROM pg_policy WHERE polname = 'wattgate_scope_0'")
LIMIT_SECONDS = 60
"""The limit of a failed test. The waits in it end long before."""


async def outdate_policies(database: Database, *tables: str) -> None:
    """Rename the policies of these tables. An upgrade replaces them in this order."""
    async with database.engine.begin() as connection:
        for table in tables:
            await connection.execute(text(f"ALTER POLICY {POLICY} ON {table} RENAME TO wattgate_scope_0"))


async def is_outdated(database: Database) -> bool:
    """Return whether the policy of a table still has another name."""
    async with database.engine.connect() as connection:
        return bool((await connection.execute(OUTDATED)).scalar_one())


async def wait_for_locks(observer: Database, mode: str) -> None:
    """Wait until a transaction waits for a lock of this mode."""
    async with observer.autocommit_engine.connect() as connection:
        while not (await connection.execute(WAITING, {"mode": mode})).scalar_one():  # noqa: ASYNC110 (in the server)
            await asyncio.sleep(0.01)


@asynccontextmanager
async def older(postgresql_url: str, template: str) -> AsyncIterator[Database]:
    """Yield a database whose table `token` the next upgrade changes."""
    async with database_on(postgresql_url, template) as url, connected(url) as database:
        await outdate_policies(database, "token")
        yield database


@asynccontextmanager
async def long_transaction(database: Database, table: str = "token") -> AsyncIterator[AsyncConnection]:
    """Hold the lock that a statement of a report holds on the table. Yield its connection."""
    async with (
        connected(database.url.render_as_string(hide_password=False)) as other,
        other.engine.connect() as connection,
    ):
        await connection.execute(text(f"SELECT count(*) FROM {table}"))
        yield connection


async def test_readers_run_while_an_upgrade_waits_for_a_long_transaction(
    postgresql_url: str, postgresql_template: str
) -> None:
    async with older(postgresql_url, postgresql_template) as database, asyncio.timeout(LIMIT_SECONDS):
        reader = Database(database.url.render_as_string(hide_password=False))
        async with long_transaction(database):
            upgrading = asyncio.create_task(upgrade(database, lock_seconds=0.5, lock_attempts=50))
            async with reader.autocommit_engine.connect() as connection:
                for _ in range(2):
                    await wait_for_locks(reader, "AccessExclusiveLock")
                    await connection.execute(READ)  # without the limit, it would wait for the end of the transaction
            assert not upgrading.done()
        await upgrading
        assert not await is_outdated(database)
        await reader.close()


async def test_an_upgrade_without_a_lock_changes_nothing_and_says_what_to_do(
    postgresql_url: str, postgresql_template: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with older(postgresql_url, postgresql_template) as database, asyncio.timeout(LIMIT_SECONDS):
        async with long_transaction(database):
            with pytest.raises(Unavailable, match=r"no lock in 2 attempts of 0\.1 s\. Nothing was changed") as failed:
                # in a task of its own: this one holds a connection
                await asyncio.create_task(upgrade(database, lock_seconds=0.1, lock_attempts=2))
        assert "pg_stat_activity" in failed.value.message
        assert "attempt 1 of 2" in caplog.text
        assert await is_outdated(database)
        await upgrade(database)
        assert not await is_outdated(database)


async def test_the_limit_of_locks_ends_with_the_upgrade(postgresql_url: str, postgresql_template: str) -> None:
    async with older(postgresql_url, postgresql_template) as database:
        await upgrade(database, lock_seconds=0.5)
        async with database.engine.connect() as connection:
            assert (await connection.execute(text("SHOW lock_timeout"))).scalar_one() == "0"


async def test_an_upgrade_locks_no_table_whose_policy_stays(postgresql_url: str, postgresql_template: str) -> None:
    async with database_on(postgresql_url, postgresql_template) as url, connected(url) as database:
        await outdate_policies(database, "account")
        async with long_transaction(database, "webhook_endpoint"):
            await upgrade(database, lock_seconds=0.5, lock_attempts=1)


async def test_an_upgrade_tries_again_after_a_deadlock(
    postgresql_url: str, postgresql_template: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A transaction waits for a table that the upgrade holds, and then the upgrade for one that the transaction holds.

    The upgrade waits last, so its own check finds the deadlock. That of the transaction, which could end the
    transaction instead, comes after the limit of the test.
    """
    async with (
        asyncio.timeout(LIMIT_SECONDS),
        database_on(postgresql_url, postgresql_template) as url,
        connected(url) as database,
        connected(url) as observer,
    ):
        await outdate_policies(database, "account", "token", "webhook_endpoint")
        async with long_transaction(database, "webhook_endpoint") as transaction:
            await transaction.execute(text(f"SET LOCAL deadlock_timeout = '{LIMIT_SECONDS}s'"))
            async with long_transaction(database, "token"):
                upgrading = asyncio.create_task(upgrade(database, lock_seconds=LIMIT_SECONDS))
                await wait_for_locks(observer, "AccessExclusiveLock")
                reading = asyncio.create_task(transaction.execute(text("SELECT count(*) FROM account")))
                await wait_for_locks(observer, "AccessShareLock")
            await reading
        await upgrading
        assert "deadlock" in caplog.text
        assert not await is_outdated(observer)


def test_the_setting_has_the_default_and_the_attempts_of_upgrades() -> None:
    setting = Settings.model_fields["database_lock_seconds"]
    assert setting.default == LOCK_SECONDS
    assert f"It tries {LOCK_ATTEMPTS} times." in str(setting.description)
