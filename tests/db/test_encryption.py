"""Stored secrets are encrypted with the first key of the ring, and bound to their row."""

import stat
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import ValidationError
from sqlalchemy import Connection, text
from sqlmodel import SQLModel

from tests.support import people
from tests.support.encryption import key, ring
from tests.support.house import Tenant
from tests.support.tables import put
from wattgate.app.secret_keys import load_key_ring
from wattgate.app.settings import Settings
from wattgate.db.connections.engine import Database
from wattgate.db.encryption.key_ring import (
    NO_KEYS,
    KeyRing,
    SecretKeyError,
    SecretLocation,
    is_encrypted,
    key_id_of,
    new_key,
    parse_keys,
)
from wattgate.db.encryption.secret_columns import ENCRYPTED_MODELS, SECRET_COLUMNS, SECRET_NAME, Protection
from wattgate.db.key_rotation import KeyCount, count_secrets, rotate_secrets, verify_keys
from wattgate.db.migrate import upgrade
from wattgate.operations.types.messages.webhooks import NewWebhookEndpoint

AT = SecretLocation("webhook_endpoint", "secret", "row")
SECRET = "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"
SECRETS = {"webhook_endpoint": ("secret", "old_secrets"), "mobile_app_token": ("token",)}
"""The columns that `fill` fills."""

STORED_SECRETS = SECRETS | {"account_mail": ("secret",)}
"""The columns that `add_secrets` fills."""

OTHER_SECRETS = {
    "account_mail": ("secret",),
    "directory": ("client_secret",),
    "external_account": ("token", "access_token"),
    "second_factor": ("secret",),
}
"""The other encrypted columns. The tests of their operations test that they store nothing else."""


def test_text_is_encrypted_and_decrypted() -> None:
    keys = ring(key("a"))
    stored = keys.encrypt(SECRET, AT)
    assert is_encrypted(stored)
    assert key_id_of(stored) == "a"
    assert SECRET not in stored
    assert keys.encrypt(SECRET, AT) != stored
    assert keys.decrypt(stored, AT) == SECRET


@pytest.mark.parametrize(
    "elsewhere",
    [
        SecretLocation("mobile_app_token", "secret", "row"),
        SecretLocation("webhook_endpoint", "old_secrets", "row"),
        SecretLocation("webhook_endpoint", "secret", "other"),
    ],
)
def test_text_cannot_be_moved_to_another_table_column_or_row(elsewhere: SecretLocation) -> None:
    keys = ring(key("a"), key("b"))
    stored = keys.encrypt(SECRET, AT)
    for change in (keys.decrypt, ring(key("b"), key("a")).rotate):
        with pytest.raises(SecretKeyError, match="changed or copied"):
            change(stored, elsewhere)


def test_changed_text_is_refused() -> None:
    stored = ring(key("a")).encrypt(SECRET, AT)
    for position in range(len("wge1.a."), len(stored), 7):
        changed = stored[:position] + ("A" if stored[position] != "A" else "B") + stored[position + 1 :]
        with pytest.raises(SecretKeyError):
            ring(key("a")).decrypt(changed, AT)
    for damaged in ("wge1.a.", "wge1.a.!", stored[:60]):
        with pytest.raises(SecretKeyError):
            ring(key("a")).decrypt(damaged, AT)


def test_missing_and_wrong_keys_are_named() -> None:
    stored = ring(key("old")).encrypt(SECRET, AT)
    with pytest.raises(SecretKeyError, match=r"needs the key old, which .* \(its keys: new\)"):
        ring(key("new")).decrypt(stored, AT)
    with pytest.raises(SecretKeyError, match="the key old: the key has another value"):
        ring(key("old", "y")).decrypt(stored, AT)
    with pytest.raises(SecretKeyError, match="set WATTGATE_SECRET_KEYS"):
        NO_KEYS.encrypt(SECRET, AT)


def test_rotation_keeps_the_text_and_removes_the_need_for_the_old_key() -> None:
    stored = ring(key("old")).encrypt(SECRET, AT)
    rotated = ring(key("new", "y"), key("old")).rotate(stored, AT)
    assert ring(key("new", "y")).decrypt(rotated, AT) == SECRET


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "has no key"),
        ("# only a comment", "has no key"),
        ("a", "has a key without a valid id"),
        ("a:c2hvcnQ=", "key a is not 32 bytes"),
        ("A_b:c2hvcnQ=", "without a valid id"),
        (f"{key('a')},{key('a', 'y')}", "two keys with the id a"),
    ],
)
def test_invalid_keys_are_refused_without_showing_them(written: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        parse_keys(written)
    assert "c2hvcnQ" not in str(refused.value)
    with pytest.raises(ValidationError, match=message) as invalid:
        Settings(_env_file=None, secret_keys=written)
    assert "c2hvcnQ" not in str(invalid.value)


def test_keys_may_be_separated_by_commas_and_lines() -> None:
    first, second = new_key(), new_key()
    assert list(parse_keys(f"{first}, {second}")) == list(parse_keys(f"# two\n{first}\n{second} # old\n"))


def test_keys_come_from_one_setting_or_file(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(key("a") + "\n" + key("b") + "\n")
    assert load_key_ring(Settings(_env_file=None, secret_keys=None, secret_keys_file=file)).key_ids == ("a", "b")
    assert load_key_ring(Settings(_env_file=None, secret_keys=key("c"))).key_ids == ("c",)
    with pytest.raises(ValidationError, match="together with WATTGATE_SECRET_KEYS"):
        Settings(_env_file=None, secret_keys=key("c"), secret_keys_file=file)
    with pytest.raises(ValidationError, match="cannot be read"):
        Settings(_env_file=None, secret_keys=None, secret_keys_file=tmp_path / "missing")


def test_sqlite_gets_a_key_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    settings = Settings(_env_file=None, secret_keys=None, database_url=f"sqlite:///{tmp_path / 'home.sqlite3'}")
    keys = load_key_ring(settings)
    file = tmp_path / "home.sqlite3.keys"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]
    assert load_key_ring(settings).key_ids == keys.key_ids
    assert load_key_ring(settings).decrypt(keys.encrypt(SECRET, AT), AT) == SECRET


def test_postgresql_gets_no_generated_key() -> None:
    settings = Settings(_env_file=None, secret_keys=None, database_url="postgresql://localhost/x")
    assert load_key_ring(settings) is NO_KEYS


def test_every_column_that_looks_secret_has_a_protection() -> None:
    identifiers = _references()
    found = {
        f"{table.name}.{column.name}"
        for table in SQLModel.metadata.sorted_tables
        for column in table.columns
        if SECRET_NAME.search(column.name) and f"{table.name}.{column.name}" not in identifiers
    }
    assert found == set(SECRET_COLUMNS)


def _references() -> set[str]:
    """Return the columns that refer to the identifier of another table."""
    return {
        f"{table.name}.{column.name}"
        for table in SQLModel.metadata.sorted_tables
        for column in table.columns
        if column.foreign_keys
    }


def test_encrypted_columns_are_those_of_the_table() -> None:
    declared = {name for name, column in SECRET_COLUMNS.items() if column.protection is Protection.ENCRYPTED}
    assert declared == {f"{model.__tablename__}.{name}" for model, names in ENCRYPTED_MODELS.items() for name in names}
    assert declared == {
        f"{table}.{column}" for table, columns in (SECRETS | OTHER_SECRETS).items() for column in columns
    }


async def stored_secrets(database: Database, secrets: Mapping[str, tuple[str, ...]] = SECRETS) -> dict[str, list[str]]:
    async with database.engine.connect() as connection:
        return {
            f"{table}.{column}": list(
                (await connection.execute(text(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL"))).scalars()
            )
            for table, columns in secrets.items()
            for column in columns
        }


async def add_secrets(tenant: Tenant) -> set[str]:
    """Store a secret in each encrypted column. Return the texts."""
    endpoint = NewWebhookEndpoint(url="https://hooks.invalid/secret", events=["*"], enabled=False)
    first = await tenant.run("add_webhook_endpoint", input=endpoint)
    second = await tenant.run("rotate_webhook_secret", endpoint_id=first.endpoint.endpoint_id, overlap_hours=1)
    await tenant.run("add_mobile_app_token", account_id=tenant.account_id, new_token="fcm:secret")
    user = await people.active(tenant)
    return {first.secret, second.secret, "fcm:secret", await people.reset_token(tenant, user)}


async def test_operations_store_only_encrypted_secrets(settled: Tenant) -> None:
    plain = await add_secrets(settled)
    for column, stored in (await stored_secrets(settled.gateway.database, STORED_SECRETS)).items():
        assert stored, column
        assert all(is_encrypted(one) for one in stored), column
        assert not [one for one in stored for secret in plain if secret in one]
    tokens = await settled.run("mobile_app_tokens", account_id=settled.account_id)
    assert "fcm:secret" in [token.token for token in tokens]
    await settled.run("add_mobile_app_token", account_id=settled.account_id, new_token="fcm:secret")
    assert len(await settled.run("mobile_app_tokens", account_id=settled.account_id)) == len(tokens)
    await settled.run("remove_mobile_app_token", account_id=settled.account_id, remove_token="fcm:secret")
    assert len(await settled.run("mobile_app_tokens", account_id=settled.account_id)) == len(tokens) - 1


def fill(connection: Connection, keys: KeyRing) -> None:
    """Store encrypted secrets."""

    def encrypted(table: str, column: str, row_id: str, secret: str) -> str:
        return keys.encrypt(secret, SecretLocation(table, column, row_id))

    put(connection, "application", application_id="a")
    put(connection, "app_user", application_id="a", user_id="u")
    put(connection, "account", application_id="a", user_id="u", account_id="c")
    for number in range(7):
        endpoint, token = f"e{number}", f"m{number}"
        secret = encrypted("webhook_endpoint", "secret", endpoint, f"{SECRET}{number}")
        before = encrypted("webhook_endpoint", "old_secrets", endpoint, f"before {number}") if number % 2 else None
        common = {"application_id": "a", "endpoint_id": endpoint}
        put(connection, "webhook_endpoint", **common, secret=secret, old_secrets=before)
        ids = {"application_id": "a", "user_id": "u", "account_id": "c", "mobile_app_token_id": token}
        stored = encrypted("mobile_app_token", "token", token, f"fcm:{number}")
        put(connection, "mobile_app_token", **ids, token=stored, created_at=datetime.now(UTC))


async def decrypted(database: Database) -> dict[str, dict[str, str]]:
    """Return the texts of all encrypted columns, by column and row."""
    found: dict[str, dict[str, str]] = {}
    keys = {"webhook_endpoint": "endpoint_id", "mobile_app_token": "mobile_app_token_id"}
    async with database.engine.connect() as connection:
        for table, columns in SECRETS.items():
            for column in columns:
                statement = text(f"SELECT {keys[table]}, {column} FROM {table} WHERE {column} IS NOT NULL")
                found[f"{table}.{column}"] = {
                    row_id: database.key_ring.decrypt(stored, SecretLocation(table, column, row_id))
                    for row_id, stored in await connection.execute(statement)
                }
    return found


EXPECTED = {
    "webhook_endpoint.secret": {f"e{number}": f"{SECRET}{number}" for number in range(7)},
    "webhook_endpoint.old_secrets": {f"e{number}": f"before {number}" for number in (1, 3, 5)},
    "mobile_app_token.token": {f"m{number}": f"fcm:{number}" for number in range(7)},
}


async def filled(url: str, *keys: str) -> Database:
    database = Database(url, key_ring=ring(*keys))
    await upgrade(database)
    async with database.engine.begin() as connection:
        await connection.run_sync(fill, database.key_ring)
    return database


@pytest.mark.long("many starts of a process; the rotation of keys has shorter tests")
async def test_rotation_continues_after_an_interruption_and_frees_the_old_key(empty_url: str) -> None:
    before = await filled(empty_url, key("old"))
    await verify_keys(before)
    await before.close()
    database = Database(empty_url, key_ring=ring(key("new", "y"), key("old")))
    interrupted = rotate_secrets(database, batch_rows=2)
    assert await anext(interrupted) == KeyCount("webhook_endpoint", "secret", "new", 2)
    await interrupted.aclose()
    counts = {(count.column, count.key_id): count.count for count in await count_secrets(database)}
    assert (counts["secret", "new"], counts["secret", "old"]) == (2, 5)
    changed = [batch.count async for batch in rotate_secrets(database, batch_rows=2)]
    assert sum(changed) == 5 + 3 + 7
    assert [batch async for batch in rotate_secrets(database, batch_rows=2)] == []
    await database.close()
    after = Database(empty_url, key_ring=ring(key("new", "y")))
    await verify_keys(after)
    assert await decrypted(after) == EXPECTED
    assert {count.key_id for count in await count_secrets(after)} == {"new"}
    await after.close()


async def test_start_is_refused_while_a_key_in_use_is_missing_or_wrong(empty_url: str) -> None:
    database = await filled(empty_url, key("old"))
    await verify_keys(database)
    await verify_keys(database)
    await database.close()
    for keys, message in (
        (ring(key("new")), "needs the key old"),
        (ring(key("old", "y")), "another value"),
        (NO_KEYS, "its keys: none"),
    ):
        other = Database(empty_url, key_ring=keys)
        with pytest.raises(SecretKeyError, match=message):
            await verify_keys(other)
        await other.close()


@pytest.mark.parametrize("stored", [SECRET, "", "wge1.", "wge1.a", "wge1.a.", "wge1..x", "wge2.a.AAAA", "WGE1.a.AAAA"])
def test_a_text_that_is_not_encrypted_is_refused(stored: str) -> None:
    keys = ring(key("a"))
    for read in (keys.decrypt, keys.rotate):
        with pytest.raises(SecretKeyError, match=r"webhook_endpoint\.secret|needs the key"):
            read(stored, AT)
