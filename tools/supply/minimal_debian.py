"""A minimal Debian system with Python, make and git, as an archive that is built once for a checkout."""

import fcntl
import platform
import shutil
import subprocess
from pathlib import Path

from supply.locks import ROOT

PACKAGES = ("python3", "python3-venv", "make", "git", "ca-certificates", "libstdc++6")
"""Packages that the README asks for, the authorities of package indexes, and the library of some wheels."""

FOLDER = ROOT / "build"


class NoDebian(Exception):
    """The system cannot be built here. The message says why."""


def minimal_debian() -> Path:
    """Return the archive of the system. Build it if there is none, while other processes wait."""
    program = shutil.which("mmdebstrap")
    if program is None:
        raise NoDebian("mmdebstrap is not installed (Debian package mmdebstrap)")
    suite = platform.freedesktop_os_release().get("VERSION_CODENAME", "stable")
    archive = FOLDER / f"minimal-debian-{suite}.tar"
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / "minimal-debian.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists():
            part = archive.with_suffix(".part.tar")
            options = ("--quiet", "--variant=minbase", "--dpkgopt=force-unsafe-io", f"--include={','.join(PACKAGES)}")
            made = subprocess.run([program, *options, suite, part], capture_output=True, text=True, check=False)
            if made.returncode:
                raise NoDebian(f"mmdebstrap cannot build a system: {made.stderr[-1000:]}")
            part.rename(archive)
    return archive
