"""Python packages that need other versions than wattgate: installed once into a virtual environment of their own."""

import subprocess
import sys
from pathlib import Path

from tests.support.install_cache import install_once


class NoTools(Exception):
    """The packages cannot be installed. The message has the reason."""


def python_tools(lock: Path) -> Path:
    """Return the folder of the executables of an environment with the packages of a lock file with hashes."""

    def install(home: Path) -> None:
        _run(sys.executable, "-m", "venv", "--clear", str(home / "environment"))
        _run(
            str(home / "environment" / "bin" / "python"),
            *("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"),
            *("--require-hashes", "-r", str(lock)),
        )

    return install_once("python", lock, install) / "environment" / "bin"


def _run(*command: str) -> None:
    completed = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if completed.returncode:
        raise NoTools(f"{' '.join(command[1:4])} failed: {completed.stderr.strip()[-500:]}")
