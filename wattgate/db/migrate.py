"""Bringing a database to the schema that this version of the code expects."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection

from wattgate.db.engine import Database


async def upgrade(database: Database) -> None:
    """Run every migration that the database has not seen yet, in one transaction where the database can."""
    async with database.engine.begin() as connection:
        await connection.run_sync(_upgrade)


async def is_current(database: Database) -> bool:
    """Whether the database has seen every migration, and no unknown one."""
    async with database.engine.connect() as connection:
        seen = await connection.run_sync(_heads)
    return seen == set(ScriptDirectory.from_config(_config()).get_heads())


def _heads(connection: Connection) -> set[str]:
    return set(MigrationContext.configure(connection).get_current_heads())


def _upgrade(connection: Connection) -> None:
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    return config
