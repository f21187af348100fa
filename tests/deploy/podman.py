"""Podman with storage of its own, and a base image that it makes from Debian packages."""

import json
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from supply.minimal_debian import NoDebian, minimal_debian
from supply.pip_options import PIP_FILES, pip_configuration, pip_options
from tests.deploy.files import ROOT
from tests.support.system_programs import refuse, required_program

BASE = "localhost/base"

PIP_OF_BASE = ("usr/local/bin/pip3", "usr/local/lib/python3.13/site-packages/pip/__init__.py")
"""Where the official images of Python have pip. The base image of the tests has empty files there."""

LIMITS = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024")
"""The limits of a container. Without CAP_SYS_RESOURCE, root cannot set the higher ones of Podman."""


class Podman:
    """Podman with images and containers in a folder, which no other process uses."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # runc, because crun does not start where control groups have both versions.
        self._options = ["--cgroup-manager=cgroupfs", "--events-backend=file", "--runtime=runc"]
        self._program = required_program("podman")
        required_program("runc")
        self._choose_storage()

    def call(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a command of Podman in the root folder of the repository. Return its output and exit status."""
        command = [self._program, *self._options, *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)

    def must(self, *arguments: str | Path) -> str:
        """Run a command that succeeds. Return its output."""
        result = self.call(*arguments)
        assert result.returncode == 0, f"{arguments}:\n{result.stdout[-2000:]}\n{result.stderr[-2000:]}"
        return result.stdout

    def inspect(self, name: str) -> dict[str, Any]:
        """Return what Podman knows of a container or an image."""
        (found,) = json.loads(self.must("inspect", name))
        return dict(found)

    def make_base(self) -> None:
        """Make the base image. Skip the test if the packages are out of reach or no container starts here."""
        required_program("mmdebstrap")
        archive = self._folder / "base.tar"
        try:
            shutil.copy(minimal_debian(), archive)
        except NoDebian as problem:
            refuse(str(problem))
        with tarfile.open(archive, "a") as system:
            for path in PIP_OF_BASE:
                system.addfile(tarfile.TarInfo(path))
        self.must("import", "--quiet", archive, BASE)
        archive.unlink()
        started = self.call("run", "--rm", *self.run_options(), BASE, "true")
        if started.returncode:
            refuse(f"podman cannot start a container here: {started.stderr[-1000:]}")

    def build_options(self) -> list[str]:
        """Return what `podman build` needs to reach the package index as the pip of this machine does."""
        options = pip_options()
        file = self._folder / "pip.conf"
        file.write_text(pip_configuration())
        volumes = [f"--volume={options[name]}:{options[name]}:ro" for name in PIP_FILES if name in options]
        return [f"--secret=id=pip,src={file}", "--isolation=chroot", "--layers=false", *volumes]

    def run_options(self) -> list[str]:
        """Return what `podman run` needs on a machine without plugins for networks, and with low limits."""
        return ["--network=host", *LIMITS]

    def remove_everything(self) -> None:
        """Stop the containers, and remove them and all images."""
        self.call("rm", "--all", "--force", "--time=0", "--volumes")
        self.call("rmi", "--all", "--force")

    def _choose_storage(self) -> None:
        """Use overlay if the kernel and the file system can. Else use vfs, which copies an image for each container."""
        options = self._options
        for driver in ("overlay", "vfs"):
            places = [f"--{name}={self._folder / driver / name}" for name in ("root", "runroot", "tmpdir")]
            self._options = [*options, f"--storage-driver={driver}", *places]
            result = self.call("info")
            if result.returncode == 0:
                return
        refuse(f"podman does not start here: {result.stderr[-1000:]}")


@contextmanager
def podman_in_its_own_folder() -> Iterator[Podman]:
    """Yield Podman, and remove its images in the end. The path of its folder must be short."""
    folder = Path(tempfile.mkdtemp(prefix="image-"))
    try:
        podman = Podman(folder)
        try:
            yield podman
        finally:
            podman.remove_everything()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
