"""The list of erasures of a gateway: the file of the settings, or one beside a SQLite database."""

from pathlib import Path

from sqlalchemy.engine import make_url

from wattgate.app.secret_keys import load_key_ring
from wattgate.app.settings import Settings
from wattgate.db.connections.database_name import sqlite_file
from wattgate.db.personal_data.erasure_list import ErasureList

LIST_FILE_SUFFIX = ".erasures"


def open_erasure_list(settings: Settings) -> ErasureList | None:
    """Return the list of the settings. Return None for PostgreSQL and for a database in memory, unless one is set.

    It creates no file. A SQLite database belongs to one machine, so its list has a place without a setting.
    """
    file = settings.erasure_list or _file_beside_database(settings)
    return None if file is None else ErasureList(file, load_key_ring(settings, creates_file=False))


def _file_beside_database(settings: Settings) -> Path | None:
    database = sqlite_file(make_url(settings.database_url))
    return None if database is None else database.with_name(f"{database.name}{LIST_FILE_SUFFIX}")
