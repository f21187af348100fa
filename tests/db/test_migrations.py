"""Migrations of databases with data, such as readings from before qualities, revisions and rollups."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlmodel import SQLModel

from tests.support.encryption import TEST_KEYS, ring
from tests.support.tables import check_rollups, put
from wattgate.clock import to_ms
from wattgate.db.encryption.key_ring import NO_KEYS, KeyRing
from wattgate.db.engine import Database
from wattgate.db.migrate import NEWEST_REVISION, alembic_config, is_current, upgrade
from wattgate.db.models import MeterPointConsent, MeterPointTenancy, Resource
from wattgate.delivery.account_mails import ACCOUNT_MAIL_TYPES, TENANCY_ENDED
from wattgate.delivery.channels.push import token_digest
from wattgate.energy.consent_gaps import ConsentGap
from wattgate.enums import TenancyProof
from wattgate.graphql.core.runner import Runner
from wattgate.principal import Permission, Principal, Role
from wattgate.realtime.bus.memory import MemoryBus
from wattgate.stored_json import check_json

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
"""The number of the resource, the index of the field, the instant and the value."""


def sample_rows() -> list[Row]:
    """Return half hours across two ends of months, power at irregular times, and a reading at the end of a year."""
    turns = [datetime(2024, 11, 29, 22, 30, tzinfo=UTC), datetime(2025, 3, 1, tzinfo=UTC)]
    energy = [(1, 0, to_ms(turn + n * HALF_HOUR), n) for turn in turns for n in range(120)]
    power = [(1, 1, to_ms(turns[0] + timedelta(seconds=7 * n)), 500 - 3 * n) for n in range(700)]
    edges = [(2, 0, to_ms(datetime(2025, 1, 1, tzinfo=UTC)) - 1, 10**15 - 1), (2, 1, 1735689600000, -(10**15) + 1)]
    return sorted([*energy, *power, *edges])


def test_newest_migration_is_the_only_head() -> None:
    assert ScriptDirectory.from_config(alembic_config()).get_heads() == [NEWEST_REVISION]


def migrate(connection: Connection, to: str, *, down: bool = False, key_ring: KeyRing = NO_KEYS) -> None:
    config = alembic_config()
    config.attributes.update(connection=connection, key_ring=key_ring)
    (command.downgrade if down else command.upgrade)(config, to)


def fill_before_quality(connection: Connection) -> None:
    """Migrate to 0002 and store readings in the form before the third migration."""
    migrate(connection, "0002")
    put(connection, "application", application_id="a")
    put(connection, "app_user", application_id="a", user_id="u")
    put(connection, "resource_type", application_id="a", resource_type_id="t", storage=STORAGE)
    common = {"application_id": "a", "owner_id": "u", "resource_type_id": "t", "storage": STORAGE}
    for number in (1, 2):
        put(connection, "resource", resource_id=f"r{number}", number=number, **common)
    for row in sample_rows():
        connection.execute(
            text("INSERT INTO reading (resource_number, field, at, value) VALUES (:number, :field, :at, :value)"),
            dict(zip(("number", "field", "at", "value"), row, strict=True)),
        )


def stored_rows(connection: Connection, columns: str = "") -> list[tuple[int, ...]]:
    order = "ORDER BY resource_number, field, at"
    result = connection.execute(text(f"SELECT resource_number, field, at, value {columns} FROM reading {order}"))
    return [tuple(row) for row in result]


def partitions(connection: Connection) -> list[str]:
    result = connection.execute(
        text("SELECT relname FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = 'reading'::regclass")
    )
    return sorted(result.scalars())


def differences(connection: Connection) -> list[object]:
    """Return the differences between the database and the models, except for partitions, which the models lack."""

    def include(name: str | None, kind: str, parents: object) -> bool:
        return not (kind == "table" and str(name).startswith("reading_20"))

    context = MigrationContext.configure(connection, opts={"include_name": include})
    return list(compare_metadata(context, SQLModel.metadata))


def check_readings(connection: Connection) -> None:
    """Assert that every reading is unchanged, without revision, and in its rollups and partition."""
    assert stored_rows(connection, ", quality, revision") == [(*row, 0, 0) for row in sample_rows()]
    assert check_rollups(connection, ["r1", "r2"]) > 10
    received = connection.execute(text("SELECT DISTINCT received_at FROM reading")).scalars().all()
    assert len(received) == 1
    if connection.dialect.name == "postgresql":
        assert partitions(connection) == [f"reading_{month}" for month in MONTHS]
        for month in MONTHS:
            assert connection.execute(text(f"SELECT count(*) FROM reading_{month}")).scalar_one() > 0


@pytest.mark.long("the migration is released and does not change; the newest ones stay in the short form")
async def test_migration_creates_partitions_and_rollups_for_existing_readings(empty_url: str) -> None:
    database = Database(empty_url)
    async with database.engine.begin() as connection:
        await connection.run_sync(fill_before_quality)
    async with database.engine.begin() as connection:
        await connection.run_sync(migrate, "0003")
    async with database.engine.begin() as connection:
        await connection.run_sync(check_readings)
    await database.close()


@pytest.mark.long("the migration is released and does not change; the newest ones stay in the short form")
async def test_readings_survive_a_downgrade_and_an_upgrade(empty_url: str) -> None:
    database = Database(empty_url)
    async with database.engine.begin() as connection:
        await connection.run_sync(fill_before_quality)
    await upgrade(database)

    def downgrade_and_check(connection: Connection) -> None:
        migrate(connection, "0002", down=True)
        assert stored_rows(connection) == sample_rows()
        if connection.dialect.name == "postgresql":
            remaining = text("SELECT count(*) FROM pg_class WHERE relname LIKE 'reading\\_%'")
            assert connection.execute(remaining).scalar_one() == 0

    async with database.engine.begin() as connection:
        await connection.run_sync(downgrade_and_check)
    assert not await is_current(database)
    await upgrade(database)
    async with database.engine.connect() as connection:
        await connection.run_sync(check_readings)
        assert await connection.run_sync(differences) == []
    await database.close()


@pytest.mark.long("migrates a filled database up and down; the tests of other revisions do the same")
async def test_database_without_readings_can_be_downgraded_and_upgraded(empty_url: str) -> None:
    database = Database(empty_url)
    async with database.engine.begin() as connection:
        await connection.run_sync(migrate, "0003")
        await connection.run_sync(lambda sync: migrate(sync, "0002", down=True))
    await upgrade(database)
    assert await is_current(database)
    await database.close()


@pytest.mark.long("migrates a filled database up and down; the tests of other revisions do the same")
async def test_migration_marks_existing_alerts_as_read(empty_url: str) -> None:
    database = Database(empty_url)

    def create_old_alert(connection: Connection) -> None:
        migrate(connection, "0006")
        put(connection, "application", application_id="a")
        put(connection, "app_user", application_id="a", user_id="u")
        put(connection, "alert_type", application_id="a", alert_type_id="t")
        put(connection, "alert", application_id="a", alert_id="old", user_id="u", alert_type_id="t")

    async with database.engine.begin() as connection:
        await connection.run_sync(create_old_alert)
    await upgrade(database)
    async with database.engine.begin() as connection:
        result = await connection.execute(text("SELECT read_at = created_at FROM alert"))
        assert result.scalar_one()
        await connection.run_sync(lambda sync: migrate(sync, "0006", down=True))
    await upgrade(database)
    assert await is_current(database)
    await database.close()


@pytest.mark.long("migrates a filled database up and down; the tests of other revisions do the same")
async def test_migration_turns_existing_templates_into_published_versions(empty_url: str) -> None:
    database = Database(empty_url)

    def create_old_template(connection: Connection) -> None:
        migrate(connection, "0009")
        put(connection, "application", application_id="a")
        put(connection, "alert_type", application_id="a", alert_type_id="t")
        put(connection, "template", application_id="a", template_id="m", alert_type_id="t", html_template="<p>x</p>")

    async with database.engine.begin() as connection:
        await connection.run_sync(create_old_template)
    await upgrade(database)
    async with database.engine.begin() as connection:
        columns = "template_id, version, subject, html_template, text, published_at IS NOT NULL"
        result = await connection.execute(text(f"SELECT {columns} FROM template_version"))
        assert [tuple(row) for row in result] == [("m", 1, "", "<p>x</p>", None, True)]
        assert (await connection.execute(text("SELECT version FROM template"))).scalar_one() == 1
        await connection.run_sync(lambda sync: migrate(sync, "0009", down=True))
    await upgrade(database)
    assert await is_current(database)
    await database.close()


@pytest.mark.long("migrates a filled database up and down; the tests of other revisions do the same")
async def test_migration_leaves_existing_applications_open_to_any_document(empty_url: str) -> None:
    database = Database(empty_url)

    def create_old_application(connection: Connection) -> None:
        migrate(connection, "0013")
        put(connection, "application", application_id="a")

    async with database.engine.begin() as connection:
        await connection.run_sync(create_old_application)
    await upgrade(database)
    async with database.engine.begin() as connection:
        result = await connection.execute(text("SELECT trusted_only FROM application"))
        assert not result.scalar_one()
        await connection.run_sync(lambda sync: migrate(sync, "0013", down=True))
    await upgrade(database)
    assert await is_current(database)
    await database.close()


@pytest.mark.long("the migration is released and does not change; the newest ones stay in the short form")
async def test_migration_keeps_mails_of_existing_accounts_and_rows_of_older_code(empty_url: str) -> None:
    database = Database(empty_url)

    def fill(connection: Connection) -> None:
        migrate(connection, "0014")
        put(connection, "application", application_id="a")
        put(connection, "app_user", application_id="a", user_id="u")
        put(
            connection,
            "account",
            application_id="a",
            account_id="old",
            user_id="u",
            directory_id="d",
            username="x@y.example",
        )
        migrate(connection, "0018")
        # code of the version before inserts an account without the new column
        connection.execute(
            text(
                "INSERT INTO account (application_id, account_id, user_id, directory_id, name, username, email, "
                "administrator, status, active, failures, created_at, updated_at) SELECT application_id, 'new', "
                "user_id, directory_id, name, 'z@y.example', email, administrator, status, active, failures, "
                "created_at, updated_at FROM account"
            )
        )

    async with database.engine.begin() as connection:
        await connection.run_sync(fill)
        rows = await connection.execute(text("SELECT account_id, mails_username FROM account ORDER BY account_id"))
        assert [(key, bool(mails)) for key, mails in rows] == [("new", True), ("old", True)]
        await connection.run_sync(lambda inner: migrate(inner, "0014", down=True))
        await connection.run_sync(lambda inner: migrate(inner, "0018"))
    await database.close()


@pytest.mark.long("migrates a filled database up and down; the tests of other revisions do the same")
async def test_existing_push_tokens_depend_on_their_account(empty_url: str) -> None:
    keys = ring(TEST_KEYS)
    database = Database(empty_url, key_ring=keys)

    def add_old_push_token(connection: Connection) -> None:
        migrate(connection, "0014")
        put(connection, "application", application_id="a")
        put(connection, "app_user", application_id="a", user_id="u")
        put(connection, "account", application_id="a", account_id="c", user_id="u")
        put(connection, "mobile_app_token", application_id="a", user_id="u", account_id="c", token="fcm:old")

    async with database.engine.begin() as connection:
        await connection.run_sync(add_old_push_token)
    await upgrade(database)
    async with database.engine.begin() as connection:
        result = await connection.execute(text("SELECT added_by_token_id FROM mobile_app_token"))
        assert list(result.scalars()) == [None]
        assert await connection.run_sync(differences) == []
        await connection.run_sync(lambda sync: migrate(sync, "0014", down=True, key_ring=keys))
        assert (await connection.execute(text("SELECT token FROM mobile_app_token"))).scalar_one() == "fcm:old"
    await upgrade(database)
    assert await is_current(database)
    await database.close()


@pytest.mark.long("migrates a filled database up and down; the tests of other revisions do the same")
async def test_migration_makes_existing_devices_searchable_by_their_identifiers(empty_url: str) -> None:
    database = Database(empty_url, key_ring=ring(TEST_KEYS))

    def add_devices(connection: Connection, *numbers: int) -> None:
        identifiers = {"mac": "70-b3-d5:12 34 56", "eui": None, "serial_number": "sn-1"}
        for number in numbers:
            put(
                connection,
                "device",
                application_id="a",
                device_id=f"d{number}",
                owner_id="u",
                device_type_id="t",
                hardware_key=f"K{number}",
                hardware_ids=identifiers if number else {},
            )

    def fill(connection: Connection) -> None:
        migrate(connection, "0021")
        put(connection, "application", application_id="a")
        put(connection, "app_user", application_id="a", user_id="u")
        put(connection, "device_type", application_id="a", device_type_id="t", protocol={})
        add_devices(connection, 0, 1, 2)

    async with database.engine.begin() as connection:
        await connection.run_sync(fill)
    await upgrade(database)
    async with database.engine.begin() as connection:
        columns = "device_id, mac, eui, serial_number, proof"
        rows = await connection.execute(text(f"SELECT {columns} FROM device ORDER BY device_id"))
        found = ("70B3D5123456", None, "SN1", None)
        assert [tuple(row) for row in rows] == [("d0", None, None, None, None), ("d1", *found), ("d2", *found)]
        # code of the version before inserts a device without the new columns
        await connection.execute(
            text(
                "INSERT INTO device (application_id, device_id, owner_id, device_type_id, description, active, "
                "hardware_id, hardware_key, hardware_ids, parent_hardware_id, tags, protocol_name, created_at, "
                "updated_at) SELECT application_id, 'd3', owner_id, device_type_id, description, active, hardware_id, "
                "'K3', hardware_ids, parent_hardware_id, tags, protocol_name, created_at, updated_at FROM device "
                "WHERE device_id = 'd1'"
            )
        )
        assert await connection.run_sync(differences) == []
        await connection.run_sync(lambda sync: migrate(sync, "0021", down=True))
        assert (await connection.execute(text("SELECT count(*) FROM device"))).scalar_one() == 4
    await upgrade(database)
    assert await is_current(database)
    await database.close()


def deep(depth: int) -> str:
    return "[" * depth + "]" * depth


REPAIRED = {
    f'{{"big": {2**70}, "safe": {2**53 - 1}}}': {"big": str(2**70), "safe": 2**53 - 1},
    f'{{"deep": {deep(253)}}}': {"deep": None},
    f'{{"deep": {deep(31)}}}': {"deep": json.loads(deep(31))},
    '{"text": "a\\ud83d\\ude00"}': {"text": "a\U0001f600"},
}
"""Stored values, and what the migration makes of them. A deep value becomes its JSON text at the 32nd level."""


@pytest.mark.long("the migration is released and does not change; the newest ones stay in the short form")
async def test_migration_repairs_json_that_clients_cannot_represent(empty_url: str) -> None:
    database = Database(empty_url)
    surrogate = {} if not database.is_sqlite else {'{"text": "a\\ud800\\u0000"}': {"text": "a\ufffd\ufffd"}}
    stored = list((REPAIRED | surrogate).items())

    def store_unbounded_values(connection: Connection) -> None:
        migrate(connection, "0014")
        put(connection, "application", application_id="a")
        put(connection, "app_user", application_id="a", user_id="u")
        put(connection, "virtual_entity_type", application_id="a", ve_type_id="t", resources=[])
        cast = "text" if database.is_sqlite else "jsonb"
        for number, (value, _) in enumerate(stored):
            put(connection, "virtual_entity", application_id="a", ve_id=f"{number}", owner_id="u", ve_type_id="t")
            statement = text(f"UPDATE virtual_entity SET attributes = CAST(:value AS {cast}) WHERE ve_id = :id")
            connection.execute(statement, {"value": value, "id": f"{number}"})

    async with database.engine.begin() as connection:
        await connection.run_sync(store_unbounded_values)
    await upgrade(database)
    async with database.engine.begin() as connection:
        result = await connection.execute(text("SELECT CAST(attributes AS TEXT) FROM virtual_entity ORDER BY ve_id"))
        repaired = [json.loads(row[0]) for row in result]
    for (_, expected), value in zip(stored, repaired, strict=True):
        if expected == {"deep": None}:
            assert json.dumps(value).count("[") > 200  # the rest is a text of the 32nd level
            check_json(value)
        else:
            assert value == expected
    await database.close()


@pytest.mark.long("the migration is released and does not change; the newest ones stay in the short form")
async def test_migration_makes_no_existing_account_a_template_editor(empty_url: str) -> None:
    database = Database(empty_url)
    account = {"application_id": "a", "user_id": "u", "directory_id": "d"}

    def fill(connection: Connection) -> None:
        migrate(connection, "0022")
        put(connection, "application", application_id="a")
        put(connection, "app_user", application_id="a", user_id="u")
        put(connection, "account", account_id="user", username="x@y.example", administrator=False, **account)
        put(connection, "account", account_id="administrator", username="z@y.example", administrator=True, **account)
        migrate(connection, "0023")
        # code of the version before inserts an account without the new column
        connection.execute(
            text(
                "INSERT INTO account (application_id, account_id, user_id, directory_id, name, username, email, "
                "administrator, status, active, failures, created_at, updated_at) SELECT application_id, 'new', "
                "user_id, directory_id, name, 'n@y.example', email, administrator, status, active, failures, "
                "created_at, updated_at FROM account WHERE account_id = 'user'"
            )
        )

    async with database.engine.begin() as connection:
        await connection.run_sync(fill)
        rows = await connection.execute(
            text("SELECT account_id, administrator, template_editor FROM account ORDER BY account_id")
        )
        assert [(key, bool(manages), bool(edits)) for key, manages, edits in rows] == [
            ("administrator", True, False),
            ("new", False, False),
            ("user", False, False),
        ]
        await connection.run_sync(lambda inner: migrate(inner, "0022", down=True))
        await connection.run_sync(lambda inner: migrate(inner, "0023"))
    await database.close()


@pytest.mark.long("the migration is released and does not change; the newest ones stay in the short form")
async def test_existing_users_follow_the_culture_of_their_application(empty_url: str) -> None:
    database = Database(empty_url)

    def fill(connection: Connection) -> None:
        migrate(connection, "0023")
        put(connection, "application", application_id="a")
        put(connection, "app_user", application_id="a", user_id="existing")
        migrate(connection, "0024")
        # code of the version before inserts a user without the new column
        connection.execute(
            text(
                "INSERT INTO app_user (application_id, user_id, status, active, created_at, updated_at) "
                "SELECT application_id, 'new', status, active, created_at, updated_at FROM app_user"
            )
        )

    async with database.engine.begin() as connection:
        await connection.run_sync(fill)
        rows = await connection.execute(text("SELECT user_id, culture_code FROM app_user ORDER BY user_id"))
        assert [tuple(row) for row in rows] == [("existing", None), ("new", None)]
    await database.close()


@pytest.mark.long("migrates a filled database up and down; the tests of other revisions do the same")
async def test_migration_records_a_consent_for_each_meter_point_that_was_served_without_one(empty_url: str) -> None:
    database = Database(empty_url)
    resources = {"r1": ("u", "200001234567"), "r2": ("u", "200001234567"), "r3": ("u", None), "r4": ("v", "1234567890")}

    def fill(connection: Connection) -> None:
        migrate(connection, "0023")
        for application_id in ("a", "b"):
            put(connection, "application", application_id=application_id)
        for application_id, user_id in (("a", "u"), ("b", "v")):
            put(connection, "app_user", application_id=application_id, user_id=user_id)
            put(
                connection,
                "resource_type",
                application_id=application_id,
                resource_type_id=f"t{user_id}",
                storage=STORAGE,
            )
        for number, (resource_id, (user_id, mpxn)) in enumerate(resources.items(), 1):
            application_id = "a" if user_id == "u" else "b"
            common = {"application_id": application_id, "owner_id": user_id, "resource_type_id": f"t{user_id}"}
            put(connection, "resource", resource_id=resource_id, number=number, mpxn=mpxn, storage=STORAGE, **common)
        revoked = {"user_id": "v", "mpxn": "1234567890", "consent_id": "c", "revoked_at": datetime(2025, 1, 1)}
        put(connection, "meter_point_consent", application_id="b", **revoked)
        put(connection, "consent_change", application_id="b", change_id="old", user_id="v", mpxn="1234567890")

    async with database.engine.begin() as connection:
        await connection.run_sync(fill)
    await upgrade(database)
    async with database.engine.begin() as connection:
        consents = await connection.execute(
            text("SELECT user_id, mpxn, verified, revoked_at IS NULL FROM meter_point_consent ORDER BY user_id")
        )
        changes = await connection.execute(
            text("SELECT user_id, kind, basis, recorded_by FROM consent_change ORDER BY 1")
        )
        # code of the version before inserts a change without the new columns
        await connection.execute(
            text(
                "INSERT INTO consent_change (application_id, change_id, user_id, mpxn, kind, valid_until, created_at) "
                "SELECT application_id, 'new', user_id, mpxn, kind, valid_until, created_at FROM consent_change "
                "WHERE change_id = 'old'"
            )
        )
    assert [(row[0], row[1], bool(row[2]), bool(row[3])) for row in consents] == [
        ("u", "2000012345672", False, True),
        ("v", "1234567890", True, False),
    ]
    assert [tuple(row) for row in changes] == [
        ("u", "grant", "migrated", "migration"),
        ("v", "x", "unrecorded", ""),
    ]
    await database.close()


@pytest.mark.long("the migration is released and does not change; the newest ones stay in the short form")
async def test_existing_applications_get_the_alert_types_of_account_mails(empty_url: str) -> None:
    database = Database(empty_url)

    def fill(connection: Connection) -> None:
        migrate(connection, "0024")
        for application_id in ("a", "b"):
            put(connection, "application", application_id=application_id)
        put(connection, "app_user", application_id="a", user_id="u")
        put(connection, "account", application_id="a", user_id="u", account_id="c")
        put(connection, "alert_type", application_id="a", alert_type_id="own", system_alert_type_id="account.verify")
        mail = {"account_mail_id": "m", "text": "The code is 1"}
        put(connection, "account_mail", application_id="a", user_id="u", account_id="c", **mail)
        migrate(connection, "0025")
        migrate(connection, "0024", down=True)
        migrate(connection, "0025")

    async with database.engine.begin() as connection:
        await connection.run_sync(fill)
        select = "SELECT application_id, system_alert_type_id, name FROM alert_type ORDER BY 1, 2"
        rows = [tuple(row) for row in await connection.execute(text(select))]
        mails = await connection.execute(text("SELECT text, secret, expires_at FROM account_mail"))
        assert [tuple(row) for row in mails] == [("The code is 1", None, None)]
    assert [(application_id, code) for application_id, code, _ in rows] == [
        (application_id, code)
        for application_id in ("a", "b")
        for code in sorted(ACCOUNT_MAIL_TYPES)
        if code != TENANCY_ENDED  # a later migration adds it
    ]
    assert {name for application_id, _, name in rows if application_id == "b"} == {
        kind.name for code, kind in ACCOUNT_MAIL_TYPES.items() if code != TENANCY_ENDED
    }
    assert ("a", "account.verify", "x") in rows
    await database.close()


@pytest.mark.long("the migration is released and does not change; the newest ones stay in the short form")
async def test_existing_accounts_have_no_second_factor_and_no_external_directory(empty_url: str) -> None:
    database = Database(empty_url)
    account = {"application_id": "a", "user_id": "u", "directory_id": "d"}

    def fill(connection: Connection) -> None:
        migrate(connection, "0023")
        put(connection, "application", application_id="a")
        put(connection, "app_user", application_id="a", user_id="u")
        put(connection, "account", account_id="old", username="x@y.example", **account)
        migrate(connection, "0030")
        # code of the version before inserts an account without the new column
        connection.execute(
            text(
                "INSERT INTO account (application_id, account_id, user_id, directory_id, name, username, email, "
                "administrator, status, active, created_at, updated_at) SELECT application_id, 'new', user_id, "
                "directory_id, name, 'n@y.example', email, administrator, status, active, created_at, updated_at "
                "FROM account WHERE account_id = 'old'"
            )
        )

    async with database.engine.begin() as connection:
        await connection.run_sync(fill)
        rows = await connection.execute(text("SELECT account_id, second_factor FROM account ORDER BY account_id"))
        assert [(key, bool(enabled)) for key, enabled in rows] == [("new", False), ("old", False)]
        for table in ("directory", "external_account", "second_factor", "recovery_code"):
            assert (await connection.execute(text(f"SELECT count(*) FROM {table}"))).scalar_one() == 0
        await connection.run_sync(lambda inner: migrate(inner, "0023", down=True))
        await connection.run_sync(lambda inner: migrate(inner, "0030"))
    await database.close()


async def test_downgrade_ends_the_credentials_of_displays(empty_url: str) -> None:
    """The code of the version before would serve such a token as one of the whole account."""
    database = Database(empty_url)
    await upgrade(database)

    def downgrade_with_a_display(connection: Connection) -> None:
        of_user = {"application_id": "a", "user_id": "u"}
        put(connection, "application", application_id="a")
        put(connection, "app_user", **of_user)
        put(connection, "account", account_id="c", **of_user)
        put(connection, "virtual_entity_type", application_id="a", ve_type_id="t")
        put(connection, "virtual_entity", application_id="a", ve_id="h", owner_id="u", ve_type_id="t")
        put(connection, "token", token_id="person", account_id="c", digest=b"1", **of_user)
        put(connection, "token", token_id="display", account_id="c", digest=b"2", ve_id="h", **of_user)
        migrate(connection, "0031", down=True)
        assert list(connection.execute(text("SELECT token_id FROM token")).scalars()) == ["person"]

    async with database.engine.begin() as connection:
        await connection.run_sync(downgrade_with_a_display)
    await upgrade(database)
    assert await is_current(database)
    await database.close()


async def test_migration_begins_a_tenancy_for_each_household_of_a_meter_point(empty_url: str) -> None:
    """Ada's resource was moved to Bob. Cy is alone at another meter point, and has closed the resource there."""
    database = Database(empty_url)
    days = [datetime(2025, 1, day, tzinfo=UTC) for day in range(1, 6)]

    def fill(connection: Connection) -> None:
        migrate(connection, "0032")
        put(connection, "application", application_id="a")
        put(connection, "resource_type", application_id="a", resource_type_id="t", storage=STORAGE)
        points = [("ada", "2000024512368", False), ("bob", "200002451236", True), ("cy", "5710900", False)]
        for number, (user_id, mpxn, active) in enumerate(points, start=1):
            put(connection, "app_user", application_id="a", user_id=user_id)
            put(
                connection,
                "resource",
                application_id="a",
                owner_id=user_id,
                resource_type_id="t",
                resource_id=user_id,
                number=number,
                storage=STORAGE,
                mpxn=mpxn,
                active=active,
                created_at=days[number],
                updated_at=days[number + 1],
            )
        put(connection, "reading_day", resource_number=1, field=0, at=to_ms(days[0]), first_at=to_ms(days[0]))

    async with database.engine.begin() as connection:
        await connection.run_sync(fill)
    await upgrade(database)
    principal = Principal(Role.SYSTEM, application_id="a")
    runner = Runner(database, MemoryBus())
    tenancies = await runner.read(principal, Permission.SYSTEM, lambda rows: rows.all(MeterPointTenancy))
    assert {(one.user_id, one.mpxn, one.began_at, one.ended_at, one.proof) for one in tenancies} == {
        ("ada", "2000024512368", days[0], days[2], TenancyProof.MIGRATED),
        ("bob", "2000024512368", days[2], None, TenancyProof.MIGRATED),
        ("cy", "5710900", days[3], days[4], TenancyProof.MIGRATED),
    }
    resources = await runner.read(principal, Permission.SYSTEM, lambda rows: rows.all(Resource))
    assert {one.resource_id: one.owned_from for one in resources} == {"ada": None, "bob": days[2], "cy": None}
    await database.close()


async def test_migration_finds_the_times_without_consent_in_the_receipts(empty_url: str) -> None:
    """Ada revoked her consent for two days, let it expire, and revoked it again. Bob's has no receipt."""
    keys = ring(TEST_KEYS)
    database = Database(empty_url, key_ring=keys)
    days = [datetime(2025, 1, day, tzinfo=UTC) for day in range(1, 12)]
    changes = [("grant", 0, 9), ("revocation", 1, 1), ("renewal", 3, 5), ("renewal", 6, 9), ("revocation", 8, 8)]

    def fill(connection: Connection) -> None:
        migrate(connection, "0033")
        put(connection, "application", application_id="a")
        put(connection, "resource_type", application_id="a", resource_type_id="t", storage=STORAGE)
        typed: dict[str, Any] = {"application_id": "a", "resource_type_id": "t", "storage": STORAGE}
        points = [("ada", "200002451236", None), ("bob", "5710900", None), ("cy", None, None), ("ada", None, "ada")]
        for number, (user_id, mpxn, cost_of) in enumerate(points, start=1):
            resource_id = "costs" if cost_of else user_id
            if not cost_of:
                put(connection, "app_user", application_id="a", user_id=user_id)
            own = {"owner_id": user_id, "resource_id": resource_id, "number": number, "mpxn": mpxn, "cost_of": cost_of}
            put(connection, "resource", **typed, **own)
        ends = [("ada", "2000024512368", days[9], days[8]), ("bob", "5710900", days[5], None)]
        for user_id, mpxn, until, revoked_at in ends:
            own = {"application_id": "a", "consent_id": user_id, "user_id": user_id, "mpxn": mpxn}
            put(connection, "meter_point_consent", **own, valid_until=until, revoked_at=revoked_at, ended_at=None)
        for kind, at, end in changes:
            own = {"application_id": "a", "change_id": f"{at}", "user_id": "ada", "mpxn": "2000024512368"}
            put(connection, "consent_change", **own, kind=kind, created_at=days[at], valid_until=days[end])

        for user_id, created_at in (("ada", days[0]), ("bob", days[1])):
            own = {"application_id": "a", "user_id": user_id, "account_id": user_id}
            put(connection, "account", **own, username=user_id)
            encrypted = keys.encrypt_column("mobile_app_token", "token", user_id, "fcm:phone")
            put(
                connection,
                "mobile_app_token",
                **own,
                mobile_app_token_id=user_id,
                token=encrypted,
                created_at=created_at,
            )

    async with database.engine.begin() as connection:
        await connection.run_sync(fill)
    await upgrade(database)
    async with database.engine.begin() as connection:
        tokens = await connection.execute(text("SELECT account_id, digest FROM mobile_app_token"))
        assert [tuple(row) for row in tokens] == [("bob", token_digest("fcm:phone"))]
    gaps = tuple(
        ConsentGap(to_ms(days[start]), stop and to_ms(days[stop])) for start, stop in ((1, 3), (5, 6), (8, None))
    )
    principal, runner = Principal(Role.SYSTEM, application_id="a"), Runner(database, MemoryBus())
    consents = await runner.read(principal, Permission.SYSTEM, lambda rows: rows.all(MeterPointConsent))
    resources = await runner.read(principal, Permission.SYSTEM, lambda rows: rows.all(Resource))
    bobs = (ConsentGap(to_ms(days[5])),)
    assert {one.user_id: one.gaps for one in consents} == {"ada": gaps, "bob": bobs}
    assert {one.resource_id: one.consent_gaps for one in resources} == {
        "ada": gaps,
        "costs": gaps,
        "bob": bobs,
        "cy": None,
    }
    await database.close()


async def test_existing_applications_get_the_alert_type_of_ended_tenancies(empty_url: str) -> None:
    """A downgrade deletes the mails, which an earlier version cannot render, and keeps those of other kinds."""
    database = Database(empty_url)

    def fill(connection: Connection) -> None:
        migrate(connection, "0033")
        for application_id in ("a", "b"):
            put(connection, "application", application_id=application_id)
        put(connection, "alert_type", application_id="a", alert_type_id="own", system_alert_type_id=TENANCY_ENDED)
        put(connection, "app_user", application_id="a", user_id="u")
        put(connection, "account", application_id="a", user_id="u", account_id="c")
        migrate(connection, "0036")
        for name in (TENANCY_ENDED, "account.reset"):
            mail = {"application_id": "a", "user_id": "u", "account_id": "c", "account_mail_id": name, "name": name}
            put(connection, "account_mail", **mail)
            put(connection, "delivery", application_id="a", delivery_id=name, target_id=name, number=len(name))

    async with database.engine.begin() as connection:
        await connection.run_sync(fill)
        select = "SELECT application_id, name FROM alert_type WHERE system_alert_type_id = :code ORDER BY 1"
        rows = [tuple(row) for row in await connection.execute(text(select), {"code": TENANCY_ENDED})]
        assert rows == [("a", "x"), ("b", ACCOUNT_MAIL_TYPES[TENANCY_ENDED].name)]
        await connection.run_sync(lambda sync: migrate(sync, "0033", down=True))
        for table, key in (("account_mail", "name"), ("delivery", "target_id")):
            kept = await connection.execute(text(f"SELECT {key} FROM {table}"))
            assert kept.scalars().all() == ["account.reset"], table
    await database.close()


async def test_migration_stores_one_spelling_of_each_meter_point(empty_url: str) -> None:
    database = Database(empty_url)
    spellings = {"a": "23 0000 0000 116", "b": "\uff12300000000116", "c": "dk-57 abc", "d": "2300000000116", "e": None}

    def fill(connection: Connection) -> None:
        migrate(connection, "0037")
        put(connection, "application", application_id="a")
        put(connection, "resource_type", application_id="a", resource_type_id="t", storage=STORAGE)
        put(connection, "app_user", application_id="a", user_id="u")
        for number, (name, mpxn) in enumerate(spellings.items(), start=1):
            own = {"application_id": "a", "resource_id": name, "resource_type_id": "t", "owner_id": "u"}
            put(connection, "resource", **own, number=number, mpxn=mpxn, storage=STORAGE, cost_of=None)
        for consent_id, mpxn in (("one", "dk-57 abc"), ("two", "DK57ABC")):  # the user has a consent of both spellings
            own = {"application_id": "a", "consent_id": consent_id, "user_id": "u", "mpxn": mpxn}
            put(connection, "meter_point_consent", **own, revoked_at=None, ended_at=None)

    async with database.engine.begin() as connection:
        await connection.run_sync(fill)
    await upgrade(database)
    async with database.engine.begin() as connection:
        rows = (await connection.execute(text("SELECT resource_id, mpxn FROM resource ORDER BY 1"))).all()
        consents = await connection.execute(text("SELECT mpxn FROM meter_point_consent ORDER BY consent_id"))
        assert consents.scalars().all() == ["dk-57 abc", "DK57ABC"]
    number = "2300000000116"
    assert [tuple(row) for row in rows] == [("a", number), ("b", number), ("c", "DK57ABC"), ("d", number), ("e", None)]
    await database.close()
