"""Both databases: migrations, tenant isolation, and errors of an unavailable database."""

import asyncio
import os
from datetime import timedelta
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import delete, select, text, update
from sqlmodel import SQLModel, col

from tests.support.house import House, Tenant, tenant_on
from tests.support.scopes import EVERYTHING
from wattgate.app.server.factory import build_gateway
from wattgate.app.settings import Settings
from wattgate.clock import to_ms, utc_now
from wattgate.db.connections.engine import Database
from wattgate.db.migrate import is_current, upgrade
from wattgate.db.models import AlertType, Resource
from wattgate.db.queries.templates import application_culture
from wattgate.db.rows.rows import Rows
from wattgate.db.scope.tenancy_guard import UnscopedStatementError
from wattgate.errors import BadInput, Conflict, NotFound, Unavailable
from wattgate.operations.accounts import provisioning
from wattgate.operations.core.operation import Delegation, OperationKind, operation
from wattgate.operations.core.runner import Runner
from wattgate.operations.homes import virtual_entities
from wattgate.principal import Permission, Principal, Role
from wattgate.realtime.bus.memory import MemoryBus


def modes_in(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()}


async def test_files_of_a_sqlite_database_are_private_whatever_the_umask(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        database = Database(f"sqlite:///{tmp_path / 'private.sqlite3'}")
        async with database.engine.begin() as connection:
            await connection.execute(text("CREATE TABLE a (b INTEGER)"))
            modes = await asyncio.to_thread(modes_in, tmp_path)
        await database.close()
    finally:
        os.umask(umask)
    assert modes == dict.fromkeys(("private.sqlite3", "private.sqlite3-wal", "private.sqlite3-shm"), 0o600)


async def test_migrations_match_the_models_and_can_run_twice(empty_url: str) -> None:
    database = Database(empty_url)
    assert not await is_current(database)
    for _ in range(2):
        await upgrade(database)
        assert await is_current(database)
    async with database.engine.connect() as connection:
        differences = await connection.run_sync(
            lambda sync: compare_metadata(MigrationContext.configure(sync), SQLModel.metadata)
        )
    await database.close()
    assert differences == []


async def test_statement_without_application_filter_raises(served: House) -> None:
    statements = [
        select(Resource),
        select(col(Resource.name)),
        select(Resource.__table__),  # type: ignore[attr-defined]
        update(AlertType).values(name="x"),
        delete(AlertType),
    ]
    async with served.gateway.database.reader(EVERYTHING) as session:
        for statement in statements:
            with pytest.raises(UnscopedStatementError):
                await session.execute(statement)


async def test_rows_never_return_records_of_another_application(served: House) -> None:
    async with served.gateway.database.session(EVERYTHING) as session:
        rows = Rows(session, served.one.application_id, now=utc_now())
        other_key = served.other.ids["alert_type"]
        for method in (rows.get, rows.edit):
            with pytest.raises(NotFound):
                await method(AlertType, other_key)
        assert await rows.get_many(AlertType, [other_key]) == {}
        assert await rows.delete(AlertType, Rows.key_column(AlertType) == other_key) == 0
        assert all(row.application_id == served.one.application_id for row in await rows.all(AlertType))


async def test_rows_of_one_user_exclude_records_of_other_users(served: House) -> None:
    async with served.gateway.database.reader(EVERYTHING) as session:
        rows = Rows(session, served.one.application_id, "nobody", now=utc_now())
        assert await rows.all(Resource) == []
        assert await rows.count(Resource) == 0
        assert await rows.all(AlertType)  # records without an owner belong to the application


async def test_sqlite_is_durable_and_enforces_foreign_keys(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'test.sqlite3'}")
    async with database.engine.connect() as connection:
        for pragma, value in (("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1)):
            assert (await connection.execute(text(f"PRAGMA {pragma}"))).scalar_one() == value
    await database.close()


async def test_integrity_error_raises_conflict(served: House) -> None:
    arguments = {"name": "again", "username": "one-app"}
    with pytest.raises(Conflict):
        await served.gateway.runner.run(provisioning.create_application, Principal(Role.SYSTEM), arguments)


async def test_failed_operation_stores_nothing(served: House) -> None:
    before = len(await served.gateway.runner.run(virtual_entities.virtual_entities, served.one.system, {}))
    body = {"veTypeId": served.one.ids["virtual_entity_type"], "name": "Half", "resources": [{"resourceId": "none"}]}
    answer = await served.call("POST", "/virtualentity", served.one.headers["account"], json=body)
    assert (answer.status_code, answer.json()["error"]) == (400, "incorrect elements -resources")
    assert len(await served.gateway.runner.run(virtual_entities.virtual_entities, served.one.system, {})) == before


async def test_application_stores_its_culture_and_rejects_an_invalid_one(served: House) -> None:
    runner, arguments = served.gateway.runner, {"name": "Welsh", "username": "welsh", "culture_code": "cy"}
    application = await runner.run(provisioning.create_application, Principal(Role.SYSTEM), arguments)
    system = Principal(Role.SYSTEM, application_id=application.application_id)
    assert await runner.read(system, Permission.SYSTEM, application_culture) == "cy"
    with pytest.raises(BadInput, match="Invalid culture code 'c y'"):
        await runner.run(provisioning.create_application, Principal(Role.SYSTEM), arguments | {"culture_code": "c y"})


async def test_concurrent_writers_of_one_reading_wait_for_each_other(database_url: str) -> None:
    start, half_hour, writers = utc_now().replace(minute=0, second=0, microsecond=0), timedelta(minutes=30), range(20)
    async with tenant_on(database_url) as tenant:
        resource_id = await tenant.add_resource()
        # each writer records one shared instant and one of its own
        await asyncio.gather(
            *(tenant.record(resource_id, (start, f"{n}"), (start - (n + 1) * half_hour, f"{n}")) for n in writers)
        )
        async with tenant.gateway.database.reader(EVERYTHING) as session:
            result = await session.execute(
                text(
                    "SELECT at, value, revision FROM reading JOIN resource ON number = resource_number "
                    "WHERE resource_id = :resource_id ORDER BY at DESC"
                ),
                {"resource_id": resource_id},
            )
            shared, *own = [tuple(row) for row in result]
    assert own == [(to_ms(start - (n + 1) * half_hour), n * 1000, 0) for n in writers]
    at, value, revision = shared
    assert at == to_ms(start)
    assert value in [n * 1000 for n in writers]
    assert revision == len(writers) - 1  # no writer overwrote another one without seeing it


@pytest.mark.parametrize("url", ["postgresql://nobody@127.0.0.1:1/nothing", "sqlite:////no/such/folder/db"])
async def test_unreachable_database_raises_unavailable(url: str) -> None:
    gateway = build_gateway(Settings(_env_file=None, database_url=url))
    for call in (
        gateway.runner.run(virtual_entities.virtual_entities, Principal(Role.SYSTEM, application_id="x"), {}),
        gateway.authenticator.authenticate({"token": "any"}),
    ):
        with pytest.raises(Unavailable) as raised:
            await call
        assert raised.value.extensions["retryable"] is True
    await gateway.database.close()


@pytest.mark.parametrize("state", ["57P03", "53300", "08006", "25006", "40P01"])
async def test_server_error_states_raise_unavailable(postgresql_url: str, state: str) -> None:
    gateway = build_gateway(Settings(_env_file=None, database_url=postgresql_url))
    fault = f"DO $$ BEGIN RAISE EXCEPTION 'the server is starting up' USING ERRCODE = '{state}'; END $$"
    with pytest.raises(Unavailable):
        async with gateway.database.reader(EVERYTHING) as session:
            await session.execute(text(fault))
    await gateway.database.close()


async def test_full_disk_is_named(postgresql_url: str, caplog: pytest.LogCaptureFixture) -> None:
    gateway = build_gateway(Settings(_env_file=None, database_url=postgresql_url))
    fault = "DO $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$"
    with pytest.raises(Unavailable, match="its disk is full") as refused:
        async with gateway.database.reader(EVERYTHING) as session:
            await session.execute(text(fault))
    await gateway.database.close()
    assert refused.value.retry_after == 60
    assert "The disk of the database is full: delete files or move the database to a larger disk" in caplog.text


async def test_sqlite_on_a_full_disk_stores_again_when_it_has_space(tmp_path: Path) -> None:
    async with tenant_on(f"sqlite:///{tmp_path / 'full.sqlite3'}") as tenant:
        engine = tenant.gateway.database.engine
        async with engine.connect() as connection:  # the next operation uses the same connection of the pool
            await connection.exec_driver_sql("PRAGMA max_page_count = 1")  # no more than the file has
        before = await resource_ids(tenant)
        acknowledged: set[str] = set()
        with pytest.raises(Unavailable, match="its disk is full"):
            await fill_database(tenant, acknowledged)
        assert await resource_ids(tenant) == before | acknowledged
        async with engine.connect() as connection:
            await connection.exec_driver_sql("PRAGMA max_page_count = 1000000000")
        added = await tenant.add_resource()
        assert await resource_ids(tenant) == before | acknowledged | {added}


async def fill_database(tenant: Tenant, acknowledged: set[str]) -> None:
    for _ in range(1000):
        acknowledged.add(await tenant.add_resource())


async def resource_ids(tenant: Tenant) -> set[str]:
    async with tenant.gateway.database.reader(EVERYTHING) as session:
        rows = Rows(session, tenant.application_id, now=utc_now())
        return {row.resource_id for row in await rows.all(Resource)}


async def test_pool_timeout_raises_unavailable(postgresql_url: str) -> None:
    database = Database(postgresql_url, pool_size=1, max_wait_seconds=0.01)
    async with database.reader(EVERYTHING):
        with pytest.raises(Unavailable):
            async with database.reader(EVERYTHING):
                pass
    await database.close()


async def test_the_system_needs_no_session_before_the_parts_of_an_operation(tmp_path: Path) -> None:
    """Such a session asks for the credential of the caller. The system has none, and a database is not needed here."""

    @operation(OperationKind.MUTATION, returns=int, needs=Permission.SYSTEM, delegates=True)
    async def count_parts(run: Delegation) -> int:
        """Return the number of parts, which is 0."""
        return 0

    database = Database(f"sqlite:///{tmp_path / 'missing' / 'folder.sqlite3'}")
    runner = Runner(database, MemoryBus())
    system = Principal(Role.SYSTEM, application_id="application")
    assert await runner.run(count_parts, system, {}) == 0
    await database.close()
