"""Migrations: the schema of the first one, and the revisions that an upgrade knows."""

from pathlib import Path

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, make_url, text

from tests.support.schema_dumps import DUMPS, dump_row_security, dump_schema
from tests.support.servers import connected
from wattgate.db.connections.engine import Database
from wattgate.db.migrate import (
    FIRST_REVISION,
    MIGRATIONS,
    NEWEST_REVISION,
    alembic_config,
    find_schema_problem,
    upgrade,
)
from wattgate.errors import Conflict


def test_newest_migration_is_the_only_head() -> None:
    assert ScriptDirectory.from_config(alembic_config()).get_heads() == [NEWEST_REVISION]


def create_first(connection: Connection) -> str:
    """Run the first migration alone. Return the schema that it makes."""
    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, FIRST_REVISION)
    return dump_schema(connection)


async def test_the_first_migration_makes_the_stored_schema(empty_url: str) -> None:
    """After the first release, the files never change."""
    async with connected(empty_url) as database:
        async with database.engine.begin() as connection:
            schema = await connection.run_sync(create_first)
        stored = (DUMPS / f"{'sqlite' if database.is_sqlite else 'postgresql'}.txt").read_text()
        assert schema == stored


async def test_an_upgrade_installs_the_stored_policies_and_privileges(
    postgresql_url: str, postgresql_template: str
) -> None:
    """They follow from the models. After a change of these, replace the file with the text that this test compares."""
    url = make_url(postgresql_url).set(database=postgresql_template).render_as_string(hide_password=False)
    async with connected(url) as database, database.engine.connect() as connection:
        assert await connection.run_sync(dump_row_security) == (DUMPS / "row_security.txt").read_text()


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE token ADD COLUMN extra text",
        "CREATE INDEX ix_extra ON token (expires_at)",
        "DROP INDEX ix_token_user_id",
        "CREATE TABLE extra (a integer)",
    ],
)
async def test_the_dump_shows_each_change(empty_url: str, change: str) -> None:
    async with connected(empty_url) as database, database.engine.begin() as connection:
        before = await connection.run_sync(create_first)
        await connection.execute(text(change))
        assert await connection.run_sync(dump_schema) != before


def test_all_files_of_the_first_migration_are_used() -> None:
    script = ScriptDirectory.from_config(alembic_config()).get_revision(FIRST_REVISION).module
    files = {file.stem for file in (MIGRATIONS / "baseline").iterdir()}
    assert files == {*script.SUBJECTS, "sqlite", "postgresql"}


async def set_revision(database: Database, revision: str) -> None:
    async with database.engine.begin() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})


async def test_an_upgrade_refuses_unknown_revisions_and_changes_nothing(tmp_path: Path) -> None:
    async with connected(f"sqlite:///{tmp_path / 'unknown.sqlite3'}") as database:
        await upgrade(database)
        for revision, remedy in (
            ("0043", "Install the newer version"),
            ("abcd", "Install the newer version"),
        ):
            await set_revision(database, revision)
            with pytest.raises(Conflict, match=f"revision is {revision}.*{remedy}"):
                await upgrade(database)
            assert remedy in str(await find_schema_problem(database))
            async with database.engine.connect() as connection:
                assert (
                    await connection.execute(text("SELECT version_num FROM alembic_version"))
                ).scalar_one() == revision
