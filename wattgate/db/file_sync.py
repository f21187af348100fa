"""Write files and folders to the disk before the program continues."""

import os
from pathlib import Path


def sync_to_disk(path: Path) -> None:
    """Wait until the disk has the content of a file, or the names in a folder. Raise OSError if it fails."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
