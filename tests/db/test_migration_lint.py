"""Each new migration keeps the previous version working, and locks no table for long: checked by squawk.

The SQL of a migration is the one that it runs on PostgreSQL. Rules: https://squawkhq.com/docs/rules
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import Connection, event

from tests.support.servers import database_on
from wattgate.db.connections.engine import Database
from wattgate.db.migrate import FIRST_REVISION, MIGRATIONS, NEWEST_REVISION, alembic_config

UNUSED_RULES = {
    "require-lock-timeout": "`wattgate db upgrade` sets it for the whole transaction.",
    "require-statement-timeout": "The end of a large migration would be the same attempt again.",
    "prefer-text-field": "The models have lengths, which SQLite and the types of the schema share.",
    "prefer-bigint-over-int": "Small numbers, such as a count of seconds, have 32 bits.",
    "prefer-robust-stmts": "A migration runs in one transaction, so no part of it runs twice.",
}
"""The rules that do not apply to wattgate, and why."""

EXCEPTIONS: dict[str, dict[str, str]] = {}
"""The findings of single migrations that stay, and why: the reason by rule, by revision."""

BREAKING = """
ALTER TABLE resource RENAME COLUMN name TO title;
ALTER TABLE resource ALTER COLUMN number TYPE bigint;
ALTER TABLE resource DROP COLUMN title;
ALTER TABLE resource ADD COLUMN kind text NOT NULL;
"""
"""Changes after which the previous version fails."""

COMPATIBLE = """
ALTER TABLE resource ADD COLUMN kind varchar;
CREATE TABLE tip (tip_id varchar NOT NULL, CONSTRAINT pk_tip PRIMARY KEY (tip_id));
"""
"""Changes of which the previous version notices nothing."""


def findings(sql: str, folder: Path) -> set[str]:
    """Return the rules of squawk that the SQL breaks."""
    linter = shutil.which("squawk", path=str(Path(sys.executable).parent))
    assert linter is not None, "squawk is missing: install the extra `test`"
    file = folder / "migration.sql"
    file.write_text(sql)
    result = subprocess.run(
        [linter, "--assume-in-transaction", "--pg-version=14.0", "--reporter=json", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout, result.stderr
    return {finding["rule_name"] for finding in json.loads(result.stdout)}


def revisions() -> list[str]:
    """Return the revisions after the first one. It creates the tables, so that it breaks no gateway."""
    names = sorted(file.name.partition("_")[0] for file in (MIGRATIONS / "versions").glob("[0-9]*.py"))
    return [name for name in names if name > FIRST_REVISION]


def migrate(connection: Connection, to: str) -> None:
    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, to)


DATA_ONLY: set[str] = set()
"""Migrations that only change rows, of which the database of this test has none."""


async def sql_of(database: Database, revision: str) -> str:
    """Run a migration and return its SQL."""
    statements: list[str] = []

    def note(connection: object, cursor: object, statement: str, *rest: object) -> None:
        if not statement.lstrip().startswith(("SELECT", "UPDATE alembic_version")):
            statements.append(f"{statement.strip()};\n")

    event.listen(database.engine.sync_engine, "before_cursor_execute", note)
    try:
        async with database.engine.begin() as connection:
            await connection.run_sync(migrate, revision)
    finally:
        event.remove(database.engine.sync_engine, "before_cursor_execute", note)
    assert statements or revision in DATA_ONLY, revision
    return "".join(statements)


async def test_new_migrations_break_no_rule(postgresql_url: str, tmp_path: Path) -> None:
    async with database_on(postgresql_url) as url:
        database = Database(url)
        await sql_of(database, FIRST_REVISION)
        for revision in revisions():
            found = findings(await sql_of(database, revision), tmp_path) - UNUSED_RULES.keys()
            assert found == EXCEPTIONS.get(revision, {}).keys(), revision
        await database.close()
    assert [FIRST_REVISION, *revisions()][-1] == NEWEST_REVISION


@pytest.mark.parametrize("statement", BREAKING.strip().splitlines())
def test_a_change_that_breaks_the_previous_version_is_found(tmp_path: Path, statement: str) -> None:
    assert findings(statement, tmp_path) - UNUSED_RULES.keys()


def test_compatible_changes_break_no_rule(tmp_path: Path) -> None:
    assert findings(COMPATIBLE, tmp_path) - UNUSED_RULES.keys() == set()
