#!/usr/bin/env python3
"""Run the two commands of the README on a fresh machine: a minimal Debian with Python, make and git alone.

    make fresh                      # a short list of tests; make test collects all of them
    make fresh FRESH=--whole        # all of `make test`
    make fresh FRESH="--keep DIR"   # keep the machine in a folder, to look at it

The machine is a folder with a Debian system, in which the commands run as an ordinary user. It has the network, the
kernel and the name servers of this machine, its authorities, and its index of Python packages. Needs root and
mmdebstrap.
"""

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from supply.minimal_debian import NoDebian, minimal_debian
from supply.pip_options import pip_configuration

ROOT = Path(__file__).parents[1]
USER = "newcomer"
HOME = Path("/home") / USER
CHECKOUT = HOME / "wattgate"
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
"""The file of trusted authorities, where Debian has it."""

START_SECONDS = 300
"""Maximum time in which `make run` installs its packages and serves its first page."""


class FreshMachine:
    """A minimal Debian in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def make(self) -> None:
        """Unpack Debian, add the user, and clone the last commit of the checkout."""
        self._folder.mkdir(exist_ok=True)
        subprocess.run(["tar", "--extract", "--file", minimal_debian(), "--directory", self._folder], check=True)
        for file in (Path("/etc/resolv.conf"), Path("/etc/hosts"), AUTHORITIES):
            if file.exists():
                shutil.copy(file, self._folder / file.relative_to("/"))
        (self._folder / "etc/pip.conf").write_text(pip_configuration())
        subprocess.run(["chroot", self._folder, "useradd", "--create-home", USER], check=True)
        subprocess.run(["git", "clone", "--quiet", f"file://{ROOT}", self._in_checkout()], check=True)
        subprocess.run(["chroot", self._folder, "chown", "-R", f"{USER}:{USER}", CHECKOUT], check=True)

    def command(self, line: str) -> list[str | Path]:
        """Return the command that runs a line of shell in the checkout, as the user, in processes of its own.

        The processes end with the command, and so do their mounts.
        """
        inside = (
            'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && for folder in tmp dev/shm; do '
            'mount -t tmpfs tmpfs "$0/$folder"; done && exec chroot --userspec="$1:$1" "$0" "${@:2}"'
        )
        environment = {"HOME": HOME, "USER": USER, "LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin"}
        environment |= {name: str(AUTHORITIES) for name in ("NODE_EXTRA_CA_CERTS", "npm_config_cafile")}
        settings = [f"{name}={value}" for name, value in environment.items()]
        in_checkout = f"cd {CHECKOUT} && {line}"
        return [
            *("unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", inside, self._folder, USER),
            *("env", "-i", *settings, "bash", "-c", in_checkout),
        ]

    def run(self, line: str) -> None:
        """Run a line of shell, which must succeed."""
        subprocess.run(self.command(line), check=True)

    def serve(self) -> None:
        """Run `make run` until it serves the page of the display, and stop it as a person does."""
        port = _free_port()
        process = subprocess.Popen(self.command(f"WATTGATE_PORT={port} make run"), start_new_session=True)
        try:
            _wait_for_page(process, f"http://127.0.0.1:{port}/display")
        finally:
            os.killpg(process.pid, signal.SIGINT)
            process.wait(60)

    def _in_checkout(self) -> Path:
        return self._folder / CHECKOUT.relative_to("/")


def _free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for_page(process: subprocess.Popen[bytes], url: str) -> None:
    """Wait until a URL answers. Raise an error if the process ends before, or after START_SECONDS."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            sys.exit(f"wattgate: make run ended with status {process.returncode} before it served {url}")
        try:
            with urllib.request.urlopen(url, timeout=10):  # noqa: S310 (an address of this machine)
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    sys.exit(f"wattgate: make run did not serve {url} within {START_SECONDS} s")


@contextmanager
def machine_folder(kept: Path | None) -> Iterator[Path]:
    """Yield the folder of a machine, and remove it at the end unless it is kept."""
    folder = kept or Path(tempfile.mkdtemp(prefix="fresh-"))
    try:
        yield folder
    finally:
        if kept is None:
            shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Make the machine and run both commands of the README. Print the time of each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--whole", action="store_true", help="run all of `make test`")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="make the machine in this new folder, and keep it")
    options = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        parser.error("needs root and the Debian package mmdebstrap")
    with machine_folder(options.keep) as folder:
        machine = FreshMachine(folder)
        tests = "make test" if options.whole else "make test MARK=program"
        steps = {"make a machine": machine.make, "make run": machine.serve, tests: lambda: machine.run(tests)}
        for name, step in steps.items():
            began = time.monotonic()
            try:
                step()
            except (NoDebian, subprocess.CalledProcessError) as problem:
                sys.exit(f"wattgate: fresh machine: {name} failed: {problem}")
            print(f"wattgate: fresh machine: {name}: {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
