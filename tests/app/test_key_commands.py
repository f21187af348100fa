"""`wattgate keys`, and the start of a gateway whose keys are missing."""

import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.app.test_cli import wattgate
from tests.support.encryption import key, ring
from wattgate.db.encryption.key_ring import KeyRing, SecretLocation, parse_keys, read_keys
from wattgate.db.personal_data.erasure_list import ErasureList, ListedErasure


def test_new_prints_a_key_that_the_settings_accept(tmp_path: Path) -> None:
    printed = wattgate("keys", "new", folder=tmp_path).stdout
    assert len(parse_keys(printed)) == 1
    assert printed != wattgate("keys", "new", folder=tmp_path).stdout


def _store_token(folder: Path, keys: KeyRing) -> None:
    """Store an encrypted push token."""
    token = keys.encrypt("t", SecretLocation("mobile_app_token", "token", "m"))
    connection = sqlite3.connect(folder / "wattgate.sqlite3")
    with connection:
        columns = "application_id, name, culture_code, directory_id, trusted_only, created_at, updated_at"
        values = "'a', 'a', 'en-GB', 'd', 0, '2026-01-01', '2026-01-01'"
        connection.execute(f"INSERT INTO application ({columns}) VALUES ({values})")
        connection.execute("PRAGMA foreign_keys=OFF")
        columns = "application_id, mobile_app_token_id, user_id, account_id, token, created_at"
        connection.execute(
            f"INSERT INTO mobile_app_token ({columns}) VALUES ('a', 'm', 'u', 'c', ?, '2026-01-01')", (token,)
        )
    connection.close()


@pytest.mark.long("many commands in a row; keys and their file have shorter tests")
def test_keys_are_rotated_and_the_old_one_removed(tmp_path: Path) -> None:
    old, new = key("old"), key("new", "y")
    assert wattgate("db", "upgrade", folder=tmp_path, SECRET_KEYS=old).returncode == 0
    _store_token(tmp_path, ring(old))
    erasures = ErasureList(tmp_path / "wattgate.sqlite3.erasures", ring(old))
    erasures.append([ListedErasure("a", "erased", datetime(2026, 1, 1, tzinfo=UTC))])

    def counts(keys: str) -> list[dict[str, object]]:
        result = wattgate("keys", "status", "--json", folder=tmp_path, SECRET_KEYS=keys)
        assert result.returncode == 0, result.stderr
        found: list[dict[str, object]] = json.loads(result.stdout)
        return found

    token = {"column": "mobile_app_token.token", "secrets": 1, "available": True}
    assert counts(old) == [{**token, "key": "old"}]

    refused = wattgate("serve", folder=tmp_path, SECRET_KEYS=new)
    assert (refused.returncode, "needs the key old" in refused.stderr) == (1, True)
    missing = wattgate("keys", "status", folder=tmp_path, SECRET_KEYS=new)
    assert (missing.returncode, "needs the key old" in missing.stderr) == (1, True)
    assert "no" in missing.stdout

    rotated = wattgate("keys", "rotate", "--batch", "1", folder=tmp_path, SECRET_KEYS=f"{new},{old}")
    assert rotated.returncode == 0
    assert "mobile_app_token.token: 1 encrypted" in rotated.stdout
    assert counts(new) == [{**token, "key": "new"}]
    checked = wattgate("doctor", folder=tmp_path, SECRET_KEYS=new)
    assert (checked.returncode, "wattgate.sqlite3.erasures: 1" in checked.stdout) == (0, True), checked.stdout


def test_postgresql_without_keys_is_refused_with_what_to_set(tmp_path: Path) -> None:
    for command in (("db", "upgrade"), ("serve",), ("worker",), ("doctor",), ("keys", "rotate")):
        settings = {"DATABASE_URL": "postgresql://localhost:1/none"}
        refused = wattgate(*command, folder=tmp_path, without=("SECRET_KEYS",), **settings)
        assert refused.returncode == 2, (command, refused.stderr)
        assert "wattgate keys new" in refused.stderr


def test_sqlite_without_keys_gets_a_key_file(tmp_path: Path) -> None:
    without = ("SECRET_KEYS",)
    assert wattgate("db", "upgrade", folder=tmp_path, without=without).returncode == 0
    assert wattgate("doctor", folder=tmp_path, without=without).returncode == 0
    assert (tmp_path / "wattgate.sqlite3.keys").exists()
    _store_token(tmp_path, KeyRing(read_keys(tmp_path / "wattgate.sqlite3.keys")))
    assert wattgate("keys", "rotate", folder=tmp_path, without=without).returncode == 0
    (tmp_path / "wattgate.sqlite3.keys").unlink()
    lost = wattgate("doctor", folder=tmp_path, without=without)
    assert lost.returncode == 1
    assert "needs the key k-" in lost.stdout
    assert not (tmp_path / "wattgate.sqlite3.keys").exists(), "doctor creates no file"
