"""Python packages that need other versions than wattgate: installed once into a virtual environment of their own."""

import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path


class NoTools(Exception):
    """The packages cannot be installed. The message has the reason."""


def python_tools(lock: Path) -> Path:
    """Return the folder of the executables of an environment with the packages of a lock file with hashes.

    It stays in a cache. Other processes wait for the file lock while it is installed.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wattgate"
    home = cache / f"python-{hashlib.sha256(lock.read_bytes()).hexdigest()[:16]}"
    home.mkdir(parents=True, exist_ok=True)
    executables = home / "environment" / "bin"
    with (home / "lock").open("w") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        if not (home / "installed").exists():
            _run(sys.executable, "-m", "venv", "--clear", str(home / "environment"))
            _run(
                str(executables / "python"),
                *("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"),
                *("--require-hashes", "-r", str(lock)),
            )
            (home / "installed").touch()
    return executables


def _run(*command: str) -> None:
    completed = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if completed.returncode:
        raise NoTools(f"{' '.join(command[1:4])} failed: {completed.stderr.strip()[-500:]}")
