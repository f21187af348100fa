"""Carry out `wattgate db upgrade`."""

from functools import partial

from wattgate.app.cli.consoles import out
from wattgate.app.cli.database_context import require_keys, run_async, with_database
from wattgate.app.settings import Settings
from wattgate.db.migrate import upgrade


def db_upgrade() -> None:
    """Create or upgrade the database schema to the one of this version."""
    settings = Settings()
    require_keys(settings)
    run_async(with_database(settings, partial(upgrade, lock_seconds=settings.database_lock_seconds)))
    out.print("The database has the schema of this version.")
