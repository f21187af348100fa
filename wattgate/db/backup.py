"""Back up a SQLite database while gateways use it.

SQLite copies the pages of one moment: gateways go on to write, and the copy has all that was committed before.
https://www.sqlite.org/backup.html
"""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from wattgate.errors import BadInput, Conflict, Unavailable
from wattgate.private_files import PRIVATE_FILE_MODE, sync_to_disk

REQUIRED_TABLES = {"alembic_version", "application", "reading"}
"""Tables that every version of the schema has."""


def back_up_sqlite(source: Path, target: Path) -> int:
    """Copy a database into a new file, which gets its name only when it is complete. Return its size in bytes.

    Raise Conflict if the file exists, BadInput if a path is wrong or the database has no tables of wattgate, and
    Unavailable if SQLite or the disk fails.
    """
    if target.exists():
        raise Conflict(f"The file {target} exists. Choose another name, or move the file.")
    if not source.is_file():
        raise BadInput(f"The database {source} does not exist. Check WATTGATE_DATABASE_URL.")
    draft = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE_MODE))
        _copy(source, draft)
        sync_to_disk(draft)
        os.link(draft, target)  # fails if another process has created the file
        sync_to_disk(target.parent)
    except FileExistsError:
        raise Conflict(f"The file {target} exists. Choose another name, or move the file.") from None
    except (OSError, sqlite3.Error) as error:
        raise Unavailable(f"The backup into {target} failed: {error}. Check the folder and its free space.") from error
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()
    return target.stat().st_size


def _copy(source: Path, draft: Path) -> None:
    """Copy all pages in one step, so that no later change is in the copy. Then check the copy."""
    with closing(sqlite3.connect(source)) as database, closing(sqlite3.connect(draft)) as copy:
        database.backup(copy, pages=-1)
        copy.execute("PRAGMA journal_mode=DELETE")  # so that one file has everything
        (result,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
        if result != "ok":
            raise sqlite3.DatabaseError(f"the database is damaged: {result}")
        tables = {name for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables >= REQUIRED_TABLES:
        raise BadInput(
            f"The database {source} has no tables of wattgate, so nothing was backed up. Check WATTGATE_DATABASE_URL."
        )
