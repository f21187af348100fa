"""Advisory locks that a statement takes first, in its round trip."""

import asyncio

import asyncpg
import pytest
from sqlalchemy import text

from tests.support.scopes import EVERYTHING
from tests.support.servers import connected, database_on
from wattgate.db.connections.engine import Database
from wattgate.db.connections.reader import transaction_reader
from wattgate.db.connections.scoped_connection import Locks
from wattgate.db.scope.row_scope import RowScope, Scope

OWN_LOCKS = (
    "SELECT ((classid::bigint << 32) | objid::bigint)::text || ' ' || mode FROM pg_locks "
    "WHERE locktype = 'advisory' AND pid = pg_backend_pid() ORDER BY 1"
)

WAITING = """
    SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
    WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted"""


@pytest.mark.parametrize("has_transaction_pooler", [False, True])
@pytest.mark.parametrize("scope", [EVERYTHING, RowScope("one", "ada")], ids=["system", "user"])
async def test_statement_takes_the_locks_first_and_the_transaction_keeps_them(
    postgresql_url: str, scope: Scope, has_transaction_pooler: bool
) -> None:
    database = Database(postgresql_url, pool_size=1, has_transaction_pooler=has_transaction_pooler)
    try:
        async with database.session(scope) as session:
            reader = await transaction_reader(session)
            reader.lock_first(Locks(-5, None, 7))
            held = [["-5 ShareLock"], ["7 ExclusiveLock"]]
            assert [list(row) for row in await reader.fetch_sql(OWN_LOCKS, ())] == held
            assert [list(row) for row in await session.execute(text(OWN_LOCKS))] == held
            reader.lock_first(Locks(9))
            with pytest.raises(asyncpg.DivisionByZeroError):
                await reader.fetch_sql("SELECT 1 / $1::int", (0,))
            reader.lock_first(Locks(11))  # no statement follows
        async with database.session(scope) as session:
            assert list(await session.execute(text(OWN_LOCKS))) == []
    finally:
        await database.close()


async def test_only_a_statement_of_its_own_sees_the_commits_during_the_wait_for_its_lock(postgresql_url: str) -> None:
    """The lock and the read are two statements in one round trip. One statement would see the state before the wait."""
    in_one = "WITH held AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(3)) SELECT value FROM probe, held"
    async with database_on(postgresql_url) as url, connected(url) as database:
        async with database.session(EVERYTHING) as session:
            await session.execute(text("CREATE TABLE probe AS SELECT 'before' AS value"))
            await session.commit()

        async def read(sql: str, locks: Locks) -> str:
            async with database.session(EVERYTHING) as session:
                reader = await transaction_reader(session)
                reader.lock_first(locks)
                ((value,),) = await reader.fetch_sql(sql, ())
                return str(value)

        async with database.session(EVERYTHING) as act:
            await act.execute(text("SELECT pg_advisory_xact_lock(3)"))
            await act.execute(text("UPDATE probe SET value = 'after'"))
            reads = [
                asyncio.create_task(read("SELECT value FROM probe", Locks(3))),
                asyncio.create_task(read(in_one, Locks())),
            ]
            async with asyncio.timeout(60):
                while (await act.execute(text(WAITING))).scalar_one() < len(reads):  # noqa: ASYNC110 (the server has none)
                    await asyncio.sleep(0.01)
            await act.commit()
        assert await asyncio.gather(*reads) == ["after", "before"]
