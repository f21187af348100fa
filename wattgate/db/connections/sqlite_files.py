"""The files of SQLite databases, which only their owner can read."""

import os
from contextlib import suppress
from typing import Any

from wattgate.private_files import PRIVATE_FILE_MODE


def create_private_file(dialect: Any, record: Any, arguments: Any, parameters: Any) -> None:
    """Create the file of a database before SQLite does, so that only its owner can read it, whatever the umask.

    SQLAlchemy calls it for the event `do_connect`. SQLite gives the files beside it (`-wal`, `-shm`) the same mode.
    """
    file = str(arguments[0])
    if file and not file.startswith((":memory:", "file:")):
        with suppress(OSError):  # the file exists, or SQLite reports the error
            os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_FILE_MODE))
