"""Podman with storage of its own, and a base image that it makes from Debian packages.

The storage keeps the base image and the layers of the last build for the next run of the tests, as Podman does by
default. So a run installs the locked packages again only after a change of a lock file or of the Containerfile.
"""

import fcntl
import hashlib
import json
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from supply.minimal_debian import FOLDER, NoDebian, minimal_debian
from supply.pip_options import PIP_FILES, pip_configuration, pip_options
from tests.deploy.files import DEPLOY, ROOT
from tests.support.system_programs import refuse, required_program

BASE = "localhost/base"
IMAGE = "localhost/wattgate"

PIP_OF_BASE = ("usr/local/bin/pip3", "usr/local/lib/python3.13/site-packages/pip/__init__.py")
"""Where the official images of Python have pip. The base image of the tests has empty files there."""

STORAGE = FOLDER / "podman"
"""The images between two runs of the tests, with the driver `overlay`. The driver `vfs` keeps none: it copies them."""

INPUTS = (DEPLOY / "Containerfile", *sorted(DEPLOY.glob("requirements*.lock")))
"""The files whose change removes all images: the first steps of the build depend on them."""

MAX_IMAGES = 60
"""The number of images above which all are removed. Each change of the sources leaves some, of about 20 MB."""

LIMITS = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024")
"""The limits of a container. Without CAP_SYS_RESOURCE, root cannot set the higher ones of Podman."""


class Podman:
    """Podman with containers in a folder, which no other process uses. `storage` has images of earlier runs."""

    def __init__(self, folder: Path, storage: Path) -> None:
        self._folder = folder
        self._storage = storage
        self._can_keep_images = self._keeps_images = False
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
        """Make the base image if the storage has none of the same files, and remove all other images.

        Skip the test if the packages are out of reach or no container starts here.
        """
        required_program("mmdebstrap")
        try:
            debian = minimal_debian()
        except NoDebian as problem:
            refuse(str(problem))
        inputs = _digest(debian)
        if not self._has_base(inputs):
            self.call("rmi", "--all", "--force")
            self._import_base(debian, inputs)
        started = self.call("run", "--rm", *self.run_options(), BASE, "true")
        if started.returncode:
            refuse(f"podman cannot start a container here: {started.stderr[-1000:]}")

    def _has_base(self, inputs: str) -> bool:
        """Return whether there is a base image of these inputs, and not too many other images."""
        images = self.must("images", "--all", "--quiet").split()
        if len(images) > MAX_IMAGES or self.call("image", "exists", BASE).returncode:
            return False
        return (self.inspect(BASE)["Labels"] or {}).get("inputs") == inputs

    def _import_base(self, debian: Path, inputs: str) -> None:
        """Import the archive of a system, with the files of pip."""
        archive = self._folder / "base.tar"
        shutil.copy(debian, archive)
        with tarfile.open(archive, "a") as system:
            for path in PIP_OF_BASE:
                system.addfile(tarfile.TarInfo(path))
        self.must("import", "--quiet", f"--change=LABEL inputs={inputs}", archive, BASE)
        archive.unlink()

    def build_options(self) -> list[str]:
        """Return what `podman build` needs to reach the package index as the pip of this machine does."""
        options = pip_options()
        file = self._folder / "pip.conf"
        file.write_text(pip_configuration())
        volumes = [f"--volume={options[name]}:{options[name]}:ro" for name in PIP_FILES if name in options]
        layers = f"--layers={str(self._can_keep_images).lower()}"
        return [f"--secret=id=pip,src={file}", "--isolation=chroot", layers, *volumes]

    def run_options(self) -> list[str]:
        """Return what `podman run` needs on a machine without plugins for networks, and with low limits."""
        return ["--network=host", *LIMITS]

    def keep_images(self) -> None:
        """Keep the images for the next run, because the test has passed. After a failure, it starts without any."""
        self._keeps_images = self._can_keep_images

    def remove_everything(self) -> None:
        """Stop the containers, and remove them. Remove the images, except those that are kept for the next run."""
        self._remove_containers()
        self.call("rmi", "--force", IMAGE if self._keeps_images else "--all")

    def _remove_containers(self) -> None:
        """Remove all containers, also those of a build or of a run that was killed."""
        names = self.call("ps", "--all", "--external", "--quiet").stdout.split()
        if names:
            self.call("rm", "--force", "--time=0", "--volumes", *names)

    def _choose_storage(self) -> None:
        """Use overlay if the kernel and the file system can. Else use vfs, which copies an image for each container."""
        options = self._options
        for driver, root in (("overlay", self._storage), ("vfs", self._folder)):
            places = [f"--{name}={self._folder / driver / name}" for name in ("runroot", "tmpdir", "volumepath")]
            self._options = [*options, f"--storage-driver={driver}", f"--root={root / driver}", *places]
            result = self.call("info")
            if result.returncode == 0:
                self._can_keep_images = root == self._storage
                self._remove_containers()
                return
        refuse(f"podman does not start here: {result.stderr[-1000:]}")


def _digest(debian: Path) -> str:
    """Return a digest of the archive of a system, by its time and size, of PIP_OF_BASE, and of INPUTS."""
    digest = hashlib.sha256(f"{debian.stat().st_mtime_ns} {debian.stat().st_size} {PIP_OF_BASE}".encode())
    for file in INPUTS:
        digest.update(file.read_bytes())
    return digest.hexdigest()


@contextmanager
def podman_in_its_own_folder() -> Iterator[Podman]:
    """Yield Podman, and remove its containers in the end. The path of its folder must be short.

    Other processes wait meanwhile.
    """
    folder = Path(tempfile.mkdtemp(prefix="i"))  # Podman accepts 50 characters for a folder in it
    STORAGE.mkdir(parents=True, exist_ok=True)
    lock = (STORAGE / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # The database of containers names the folder of the earlier run, and Podman refuses another one.
        shutil.rmtree(STORAGE / "overlay" / "libpod", ignore_errors=True)
        (STORAGE / "overlay" / "db.sql").unlink(missing_ok=True)
        podman = Podman(folder, STORAGE)
        try:
            yield podman
        finally:
            podman.remove_everything()
    finally:
        lock.close()
        shutil.rmtree(folder, ignore_errors=True)
