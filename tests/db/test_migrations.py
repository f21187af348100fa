"""Migrations of databases that hold something: readings before and after they got quality, revisions and rollups."""

from datetime import UTC, datetime, timedelta

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlmodel import SQLModel

from tests.support.tables import check_rollups, put
from wattgate.clock import to_ms
from wattgate.db.engine import Database
from wattgate.db.migrate import NEWEST, _config, is_current, upgrade

HALF_HOUR = timedelta(minutes=30)
STORAGE = [
    {
        "type": "timeseries",
        "sampling": "regular",
        "start": "2014-01-06T00:00:00+00:00",
        "fields": [{"field_name": "ENERGY", "unit": "kWh", "datatype": "fixedpoint(3)", "negative": False}],
    },
    {
        "type": "timeseries",
        "sampling": "irregular",
        "start": "2014-01-06T00:00:00+00:00",
        "fields": [{"field_name": "POWER", "unit": "W", "datatype": "integer", "negative": True}],
    },
]
MONTHS = ["2024_11", "2024_12", "2025_01", "2025_03"]

Row = tuple[int, int, int, int]
"""Number of the resource, index of the field, instant, value."""


def rows() -> list[Row]:
    """Half hours across two turns of months, power at any second, and one reading at the last moment of a year."""
    turns = [datetime(2024, 11, 29, 22, 30, tzinfo=UTC), datetime(2025, 3, 1, tzinfo=UTC)]
    energy = [(1, 0, to_ms(turn + n * HALF_HOUR), n) for turn in turns for n in range(120)]
    power = [(1, 1, to_ms(turns[0] + timedelta(seconds=7 * n)), 500 - 3 * n) for n in range(700)]
    edges = [(2, 0, to_ms(datetime(2025, 1, 1, tzinfo=UTC)) - 1, 10**15 - 1), (2, 1, 1735689600000, -(10**15) + 1)]
    return sorted([*energy, *power, *edges])


def test_the_newest_migration_is_where_all_others_lead() -> None:
    assert ScriptDirectory.from_config(_config()).get_heads() == [NEWEST]


def migrate(connection: Connection, to: str, *, down: bool = False) -> None:
    config = _config()
    config.attributes["connection"] = connection
    (command.downgrade if down else command.upgrade)(config, to)


def fill(connection: Connection) -> None:
    """Readings as they were before the third migration."""
    migrate(connection, "0002")
    put(connection, "application", application_id="a")
    put(connection, "app_user", application_id="a", user_id="u")
    put(connection, "resource_type", application_id="a", resource_type_id="t", storage=STORAGE)
    of_type = {"application_id": "a", "owner_id": "u", "resource_type_id": "t", "storage": STORAGE}
    for number in (1, 2):
        put(connection, "resource", resource_id=f"r{number}", number=number, **of_type)
    for row in rows():
        connection.execute(
            text("INSERT INTO reading (resource_number, field, at, value) VALUES (:number, :field, :at, :value)"),
            dict(zip(("number", "field", "at", "value"), row, strict=True)),
        )


def stored(connection: Connection, columns: str = "") -> list[tuple[int, ...]]:
    order = "ORDER BY resource_number, field, at"
    found = connection.execute(text(f"SELECT resource_number, field, at, value {columns} FROM reading {order}"))
    return [tuple(row) for row in found]


def partitions(connection: Connection) -> list[str]:
    found = connection.execute(
        text("SELECT relname FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = 'reading'::regclass")
    )
    return sorted(found.scalars())


def differences(connection: Connection) -> list[object]:
    """Where the database is not what the models say, apart from the partitions, of which they do not speak."""

    def include(name: str | None, kind: str, parents: object) -> bool:
        return not (kind == "table" and str(name).startswith("reading_20"))

    context = MigrationContext.configure(connection, opts={"include_name": include})
    return list(compare_metadata(context, SQLModel.metadata))


def check(connection: Connection) -> None:
    """Assert that every reading is there as it was, uncorrected, and in its hours, days and month."""
    assert stored(connection, ", quality, revision") == [(*row, 0, 0) for row in rows()]
    assert check_rollups(connection, ["r1", "r2"]) > 10
    received = connection.execute(text("SELECT DISTINCT received_at FROM reading")).scalars().all()
    assert len(received) == 1
    if connection.dialect.name == "postgresql":
        assert partitions(connection) == [f"reading_{month}" for month in MONTHS]
        for month in MONTHS:
            assert connection.execute(text(f"SELECT count(*) FROM reading_{month}")).scalar_one() > 0


async def test_readings_from_before_have_partitions_rollups_and_no_revision(empty_url: str) -> None:
    database = Database(empty_url)
    async with database.engine.begin() as connection:
        await connection.run_sync(fill)
    async with database.engine.begin() as connection:
        await connection.run_sync(migrate, "0003")
    async with database.engine.begin() as connection:
        await connection.run_sync(check)
    await database.close()


async def test_readings_go_back_and_come_again(empty_url: str) -> None:
    database = Database(empty_url)
    async with database.engine.begin() as connection:
        await connection.run_sync(fill)
    await upgrade(database)

    def back(connection: Connection) -> None:
        migrate(connection, "0002", down=True)
        assert stored(connection) == rows()
        if connection.dialect.name == "postgresql":
            left = text("SELECT count(*) FROM pg_class WHERE relname LIKE 'reading\\_%'")
            assert connection.execute(left).scalar_one() == 0

    async with database.engine.begin() as connection:
        await connection.run_sync(back)
    assert not await is_current(database)
    await upgrade(database)
    async with database.engine.connect() as connection:
        await connection.run_sync(check)
        assert await connection.run_sync(differences) == []
    await database.close()


async def test_a_database_without_a_reading_goes_there_and_back(empty_url: str) -> None:
    database = Database(empty_url)
    async with database.engine.begin() as connection:
        await connection.run_sync(migrate, "0003")
        await connection.run_sync(lambda sync: migrate(sync, "0002", down=True))
    await upgrade(database)
    assert await is_current(database)
    await database.close()


async def test_alerts_from_before_count_as_read(empty_url: str) -> None:
    database = Database(empty_url)

    def before(connection: Connection) -> None:
        migrate(connection, "0006")
        put(connection, "application", application_id="a")
        put(connection, "app_user", application_id="a", user_id="u")
        put(connection, "alert_type", application_id="a", alert_type_id="t")
        put(connection, "alert", application_id="a", alert_id="old", user_id="u", alert_type_id="t")

    async with database.engine.begin() as connection:
        await connection.run_sync(before)
    await upgrade(database)
    async with database.engine.begin() as connection:
        found = await connection.execute(text("SELECT read_at = created_at FROM alert"))
        assert found.scalar_one()
        await connection.run_sync(lambda sync: migrate(sync, "0006", down=True))
    await upgrade(database)
    assert await is_current(database)
    await database.close()


async def test_templates_from_before_are_their_first_published_version(empty_url: str) -> None:
    database = Database(empty_url)

    def before(connection: Connection) -> None:
        migrate(connection, "0009")
        put(connection, "application", application_id="a")
        put(connection, "alert_type", application_id="a", alert_type_id="t")
        put(connection, "template", application_id="a", template_id="m", alert_type_id="t", html_template="<p>x</p>")

    async with database.engine.begin() as connection:
        await connection.run_sync(before)
    await upgrade(database)
    async with database.engine.begin() as connection:
        columns = "template_id, version, subject, html_template, text, published_at IS NOT NULL"
        found = await connection.execute(text(f"SELECT {columns} FROM template_version"))
        assert [tuple(row) for row in found] == [("m", 1, "", "<p>x</p>", None, True)]
        assert (await connection.execute(text("SELECT version FROM template"))).scalar_one() == 1
        await connection.run_sync(lambda sync: migrate(sync, "0009", down=True))
    await upgrade(database)
    assert await is_current(database)
    await database.close()


async def test_applications_from_before_take_any_document(empty_url: str) -> None:
    database = Database(empty_url)

    def before(connection: Connection) -> None:
        migrate(connection, "0013")
        put(connection, "application", application_id="a")

    async with database.engine.begin() as connection:
        await connection.run_sync(before)
    await upgrade(database)
    async with database.engine.begin() as connection:
        found = await connection.execute(text("SELECT trusted_only FROM application"))
        assert not found.scalar_one()
        await connection.run_sync(lambda sync: migrate(sync, "0013", down=True))
    await upgrade(database)
    assert await is_current(database)
    await database.close()
