"""Files and folders with personal data, which only their owner can read, whatever the umask."""

import os
import stat
from pathlib import Path
from typing import IO

PRIVATE_FILE_MODE, PRIVATE_FOLDER_MODE = 0o600, 0o700
"""The modes of files and folders with personal data or keys."""


def write_private(path: Path) -> IO[str]:
    """Open a text file to write it anew. Only its owner can read it, also if it exists. Raise OSError if it fails.

    A device or a pipe keeps its mode.
    """
    return _open_private(path, os.O_TRUNC)


def append_private(path: Path) -> IO[str]:
    """Open a text file to add to its end, as `write_private` opens one."""
    return _open_private(path, os.O_APPEND)


def _open_private(path: Path, flag: int) -> IO[str]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flag, PRIVATE_FILE_MODE)
    file = os.fdopen(descriptor, "w")
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.fchmod(descriptor, PRIVATE_FILE_MODE)
    except OSError:
        file.close()
        raise
    return file


def make_private_folder(path: Path) -> None:
    """Create a folder, or take one that exists. Only its owner can read it. Raise OSError if it fails."""
    path.mkdir(mode=PRIVATE_FOLDER_MODE, exist_ok=True)
    path.chmod(PRIVATE_FOLDER_MODE)


def others_can_read(path: Path) -> bool:
    """Return whether other users than the owner can read a file, by its mode."""
    return bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))


def sync_to_disk(path: Path) -> None:
    """Wait until the disk has the content of a file, or the names in a folder. Raise OSError if it fails."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
