"""Carry out `wattgate db upgrade` and `wattgate db backup`."""

from functools import partial
from pathlib import Path

from sqlalchemy.engine import make_url

from wattgate.app.cli.consoles import out
from wattgate.app.cli.database_context import require_keys, run_async, with_database
from wattgate.app.erasure_list import open_erasure_list
from wattgate.app.secret_keys import KEY_FILE_SUFFIX
from wattgate.app.settings import Settings
from wattgate.db.backup import back_up_sqlite
from wattgate.db.migrate import upgrade
from wattgate.errors import BadInput


def db_backup(*, file: Path) -> None:
    """Copy the SQLite database into a new file while gateways use it."""
    settings = Settings()
    url, erasure_list = make_url(settings.database_url), open_erasure_list(settings)
    if url.get_backend_name() != "sqlite":
        raise BadInput("This command backs up SQLite only. Back up PostgreSQL with pg_dump or pg_basebackup.")
    if url.database in (None, "", ":memory:"):
        raise BadInput("The database is in memory, so there is no file to back up.")
    size = back_up_sqlite(Path(str(url.database)), file)
    out.print(f"The backup {file} has {size:,} bytes and is complete.", highlight=False, soft_wrap=True)
    keys = Path(f"{url.database}{KEY_FILE_SUFFIX}")
    if keys.exists():
        out.print(f"Keep a copy of the keys {keys} in another place. The backup has none.", highlight=False)
    if erasure_list is not None and erasure_list.exists():
        text = f"For a restore, keep the newest copy of {erasure_list.file}: later erasures and moves are only there."
        out.print(text, highlight=False, soft_wrap=True)


def db_upgrade() -> None:
    """Create or upgrade the database schema to the one of this version."""
    settings = Settings()
    require_keys(settings)
    run_async(with_database(settings, partial(upgrade, lock_seconds=settings.database_lock_seconds)))
    out.print("The database has the schema of this version.")
