"""Packages and programs that tests install or compile once for a machine, by a lock file or their source."""

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def install_once(kind: str, lock: Path, install: Callable[[Path], None]) -> Path:
    """Return the folder that `install` fills for a lock file or a source. Other processes wait for a file lock."""
    home = cache_folder() / f"{kind}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:16]}"
    home.mkdir(exist_ok=True)
    with (home / "lock").open("w") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        if not (home / "installed").exists():
            install(home)
            (home / "installed").touch()
    return home


def cache_folder() -> Path:
    """Return the cache of the user or, if it cannot be written, a folder of the user among the temporary files."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wattgate"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache):
            return cache
    except OSError:
        cache = Path(tempfile.gettempdir()) / f"wattgate-cache-{os.getuid()}"
        cache.mkdir(mode=0o700, exist_ok=True)
        if cache.stat().st_uid != os.getuid():
            raise PermissionError(f"{cache} belongs to another user. Set XDG_CACHE_HOME to a folder of yours") from None
        return cache
