"""Programs of the system that no wheel provides, such as nginx and promtool."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from typing import NoReturn

import pytest

REQUIRED = "WATTGATE_TEST_PROGRAMS"
"""With the value `required`, a test fails if its program is not installed. Else it is skipped."""

SEARCH_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/local/sbin:/usr/sbin:/sbin"
"""Debian installs servers in folders that are not on the path of ordinary users."""

CHECK_SECONDS = 30
"""Maximum time in which a program prints its version."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program: its Debian package, the oldest version that the tests work with, and how to ask for its version."""

    package: str
    oldest: tuple[int, ...]
    ask: str = "--version"
    path: str = SEARCH_PATH


PROGRAMS = {
    "bash": Program("bash", (4,)),
    "caddy": Program("caddy", (2, 6), "version"),
    "curl": Program("curl", (7, 64)),
    "go": Program("golang-go golang-github-masterminds-sprig-dev golang-gopkg-yaml.v3-dev", (1, 15), "version"),
    "haproxy": Program("haproxy", (2, 4), "-v"),
    "java": Program("default-jdk-headless", (11,), "-version"),
    "javac": Program("default-jdk-headless", (11,), "-version"),
    "mmdebstrap": Program("mmdebstrap", (1, 0)),
    "nginx": Program("nginx-light", (1, 18), "-v"),
    "pgbouncer": Program("pgbouncer", (1, 18)),
    "podman": Program("podman", (4, 0)),
    "prometheus": Program("prometheus", (2, 40)),
    "promtool": Program("prometheus", (2, 40)),
    "redis-cli": Program("redis-tools", (6, 0)),
    "redis-server": Program("redis-server", (6, 0), path="/usr/local/bin:/usr/bin"),
    "runc": Program("runc", (1, 0)),
    "systemd-analyze": Program("systemd", (247,)),
}
"""The programs by name. The wheel's redis-server, which is on the path of the virtual environment, has no TLS."""


def required_program(name: str) -> str:
    """Return the file of a program. Without it, skip the test, or fail it if WATTGATE_TEST_PROGRAMS=required."""
    file, problem = find_program(name)
    if problem:
        refuse(problem)
    return file


@cache
def find_program(name: str) -> tuple[str, str]:
    """Return the file of a program, and why it cannot be used, or an empty text if it can."""
    program = PROGRAMS[name]
    file = shutil.which(name, path=program.path)
    if file is None:
        return "", f"{name} is not installed (Debian package {program.package})"
    try:
        asked = subprocess.run(
            [file, program.ask], capture_output=True, text=True, timeout=CHECK_SECONDS, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return file, f"{file} does not start: {error}"
    printed = asked.stdout + asked.stderr
    if asked.returncode:
        return file, f"{file} {program.ask} ends with status {asked.returncode}: {printed[-500:]}"
    version = re.search(r"\d+(?:\.\d+)*", printed)
    if version is None:
        return file, f"{file} {program.ask} prints no version: {printed[-500:]}"
    if tuple(map(int, version[0].split("."))) < program.oldest:
        oldest = ".".join(map(str, program.oldest))
        return file, f"{file} has version {version[0]}, and the tests need {oldest} or newer"
    return file, ""


def refuse(missing: str) -> NoReturn:
    """Skip the test because something is missing, or fail it if WATTGATE_TEST_PROGRAMS=required."""
    if os.environ.get(REQUIRED) == "required":
        pytest.fail(f"{missing}, and {REQUIRED} requires it")
    pytest.skip(missing)
