"""Temporary files of a test run in memory, where a machine has enough of it.

Tests make and delete thousands of databases. On a disk, a third of PostgreSQL's processor time is the file system's.
"""

import os
import tempfile
from pathlib import Path

MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108 (the only place of Linux for files in memory that each user may write)

NEEDED_BYTES = 4 << 30
"""Free memory that a run needs. One of all tests used up to 1.3 GiB."""


def use_memory() -> None:
    """Make temporary files in memory from now on, also in child processes.

    Do nothing if TMPDIR is set, or if the folder has too little space or lets no program run, as in many containers.
    """
    if "TMPDIR" in os.environ or not os.access(MEMORY_FOLDER, os.W_OK):
        return
    state = os.statvfs(MEMORY_FOLDER)
    if state.f_bavail * state.f_frsize < NEEDED_BYTES or state.f_flag & os.ST_NOEXEC:
        return
    # The PostgreSQL wheel keeps one lock file in the temporary folder, which no other user can open.
    folder = MEMORY_FOLDER / f"wattgate-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
