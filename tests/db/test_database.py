"""Both databases: migrations, tenancy below the operations, what is told when the database is away."""

import asyncio
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, delete, select, text, update
from sqlmodel import SQLModel, col

from tests.support.house import House, tenant_on
from tests.support.tables import put
from wattgate.app.server.factory import assemble
from wattgate.app.settings import Settings
from wattgate.clock import to_ms, utc_now
from wattgate.db.engine import Database
from wattgate.db.migrate import _config, is_current, upgrade
from wattgate.db.models import AlertType, Resource, Tariff
from wattgate.db.queries.templates import culture_of
from wattgate.db.rows import Rows
from wattgate.db.tenancy_guard import UnscopedStatement
from wattgate.enums import TariffKind
from wattgate.errors import BadInput, Conflict, NotFound, Unavailable
from wattgate.graphql.resolvers import provisioning, virtual_entities
from wattgate.principal import Permission, Principal, Role


async def test_migrations_lead_to_what_the_models_say_and_may_run_again(empty_url: str) -> None:
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


async def test_a_statement_that_names_no_application_raises(served: House) -> None:
    statements = [
        select(Resource),
        select(col(Resource.name)),
        select(Resource.__table__),  # type: ignore[attr-defined]
        update(AlertType).values(name="x"),
        delete(AlertType),
    ]
    async with served.gateway.database.reading() as session:
        for statement in statements:
            with pytest.raises(UnscopedStatement):
                await session.execute(statement)


async def test_rows_of_one_application_never_touch_anothers(served: House) -> None:
    async with served.gateway.database.session() as session:
        rows = Rows(session, served.one.application_id, now=utc_now())
        theirs = served.other.ids["alert_type"]
        for way in (rows.get, rows.edit):
            with pytest.raises(NotFound):
                await way(AlertType, theirs)
        assert await rows.many(AlertType, [theirs]) == {}
        assert await rows.delete(AlertType, Rows.key_of(AlertType) == theirs) == 0
        assert all(row.application_id == served.one.application_id for row in await rows.all(AlertType))


async def test_rows_of_one_user_leave_out_other_users(served: House) -> None:
    async with served.gateway.database.reading() as session:
        rows = Rows(session, served.one.application_id, "nobody", now=utc_now())
        assert await rows.all(Resource) == []
        assert await rows.count(Resource) == 0
        assert await rows.all(AlertType)  # what has no owner is the application's


async def test_sqlite_is_durable_and_checks_its_references(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'test.sqlite3'}")
    async with database.engine.connect() as connection:
        for pragma, value in (("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1)):
            assert (await connection.execute(text(f"PRAGMA {pragma}"))).scalar_one() == value
    await database.close()


async def test_what_the_database_refuses_is_a_conflict(served: House) -> None:
    arguments = {"name": "again", "username": "one-app"}
    with pytest.raises(Conflict):
        await served.gateway.runner.run(provisioning.create_application, Principal(Role.SYSTEM), arguments)


async def test_a_failed_operation_leaves_nothing_behind(served: House) -> None:
    before = len(await served.gateway.runner.run(virtual_entities.virtual_entities, served.one.system, {}))
    body = {"veTypeId": served.one.ids["virtual_entity_type"], "name": "Half", "resources": [{"resourceId": "none"}]}
    answer = await served.call("POST", "/virtualentity", served.one.headers["account"], json=body)
    assert (answer.status_code, answer.json()["error"]) == (400, "incorrect elements -resources")
    assert len(await served.gateway.runner.run(virtual_entities.virtual_entities, served.one.system, {})) == before


async def test_an_application_has_a_culture_in_which_its_users_are_written_to(served: House) -> None:
    runner, asked = served.gateway.runner, {"name": "Welsh", "username": "welsh", "culture_code": "cy"}
    made = await runner.run(provisioning.create_application, Principal(Role.SYSTEM), asked)
    system = Principal(Role.SYSTEM, application_id=made.application_id)
    assert await runner.read(system, Permission.SYSTEM, culture_of) == "cy"
    with pytest.raises(BadInput, match="is not a culture"):
        await runner.run(provisioning.create_application, Principal(Role.SYSTEM), asked | {"culture_code": "c y"})


async def test_writers_wait_for_each_other(database_url: str) -> None:
    start, half_hour, writers = utc_now().replace(minute=0, second=0, microsecond=0), timedelta(minutes=30), range(20)
    async with tenant_on(database_url) as tenant:
        resource_id = await tenant.add_resource()
        # Each writer records one instant that all of them record, and one of its own.
        await asyncio.gather(
            *(tenant.record(resource_id, (start, f"{n}"), (start - (n + 1) * half_hour, f"{n}")) for n in writers)
        )
        async with tenant.gateway.database.reading() as session:
            found = await session.execute(
                text(
                    "SELECT at, value, revision FROM reading JOIN resource ON number = resource_number "
                    "WHERE resource_id = :resource_id ORDER BY at DESC"
                ),
                {"resource_id": resource_id},
            )
            shared, *own = [tuple(row) for row in found]
    assert own == [(to_ms(start - (n + 1) * half_hour), n * 1000, 0) for n in writers]
    at, value, revision = shared
    assert at == to_ms(start)
    assert value in [n * 1000 for n in writers]
    assert revision == len(writers) - 1  # no writer overwrote another one without seeing it


@pytest.mark.parametrize("url", ["postgresql://nobody@127.0.0.1:1/nothing", "sqlite:////no/such/folder/db"])
async def test_a_database_that_is_away_is_told_as_unavailable(url: str) -> None:
    gateway = assemble(Settings(_env_file=None, database_url=url))
    for asked in (
        gateway.runner.run(virtual_entities.virtual_entities, Principal(Role.SYSTEM, application_id="x"), {}),
        gateway.authenticator.principal({"token": "any"}),
    ):
        with pytest.raises(Unavailable) as told:
            await asked
        assert told.value.extensions["retryable"] is True
    await gateway.database.close()


@pytest.mark.parametrize("state", ["57P03", "53300", "08006"])
async def test_a_server_that_is_not_well_is_told_as_unavailable(postgresql_url: str, state: str) -> None:
    gateway = assemble(Settings(_env_file=None, database_url=postgresql_url))
    fault = f"DO $$ BEGIN RAISE EXCEPTION 'the server is starting up' USING ERRCODE = '{state}'; END $$"
    with pytest.raises(Unavailable):
        async with gateway.database.reading() as session:
            await session.execute(text(fault))
    await gateway.database.close()


async def test_a_request_that_gets_no_connection_in_time_is_told_as_unavailable(postgresql_url: str) -> None:
    database = Database(postgresql_url, pool_size=1)
    database.engine.pool._max_overflow, database.engine.pool._timeout = 0, 0.01  # type: ignore[attr-defined]
    async with database.reading():
        with pytest.raises(Unavailable):
            async with database.reading():
                pass
    await database.close()


async def test_flat_tariffs_from_before_versions_are_numbered_and_of_one_validity_the_last_stands(
    empty_url: str,
) -> None:
    def before(connection: Connection) -> None:
        revision = ScriptDirectory.from_config(_config()).get_revision("0004").down_revision
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, str(revision))
        put(connection, "application", application_id="a")
        put(connection, "app_user", application_id="a", user_id="u")
        put(connection, "resource_type", application_id="a", resource_type_id="t")
        put(connection, "resource", application_id="a", resource_id="r", owner_id="u", resource_type_id="t", number=1)
        for minute, (tariff_id, year) in enumerate((("first", 2024), ("later", 2025), ("corrected", 2024))):
            made = datetime(2025, 6, 1, 12, minute)
            put(
                connection,
                "tariff",
                application_id="a",
                resource_id="r",
                tariff_id=tariff_id,
                rate=24_500_000,
                valid_from=datetime(year, 1, 1),
                created_at=made,
            )

    database = Database(empty_url)
    async with database.engine.begin() as connection:
        await connection.run_sync(before)
    await upgrade(database)
    async with database.reading() as session:
        rows = Rows(session, "a", now=utc_now())
        found = await rows.all(Tariff, order_by=[Tariff.version])
        (resource,) = await rows.all(Resource)
    await database.close()
    assert resource.cost_of is None
    assert [(one.tariff_id, one.version, one.superseded_at is None) for one in found] == [
        ("first", 1, False),
        ("later", 2, True),
        ("corrected", 3, True),
    ]
    assert {(one.kind, one.rate, one.vat_rate, one.time_zone) for one in found} == {
        (TariffKind.FLAT, Decimal("24.5"), Decimal(0), "Europe/London")
    }
