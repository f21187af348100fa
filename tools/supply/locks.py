"""Read the lock files: Python requirements with hashes, and packages of npm."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]

RUN_TIME_LOCK = ROOT / "requirements.lock"
DEPLOYMENT_LOCK = ROOT / "deploy/requirements.lock"
"""The pins of run time and of the extras."""

DEVELOPMENT_LOCK = ROOT / "requirements-dev.lock"
"""All pins: those of run time, those of the extras, and those of tests, checks and documentation."""

_CONTINUATION = re.compile(r"\\\n")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, order=True)
class Pin:
    """A pinned Python package. `marker` is empty if it applies to every Python version and system."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]

    @property
    def applies_here(self) -> bool:
        marker = Requirement(f"{self.name} ; {self.marker}").marker if self.marker else None
        return marker is None or marker.evaluate()


@dataclass(frozen=True, order=True)
class NpmPackage:
    """A package in a lock file of npm. `integrity` is a hash in the form of Subresource Integrity."""

    name: str
    version: str
    integrity: str
    licence: str


def read_pins(path: Path) -> list[Pin]:
    """Return the pins of a lock file of Python. Raise ValueError if a line is not a pinned version with hashes."""
    return [_read_pin(line) for line in _CONTINUATION.sub(" ", path.read_text()).splitlines() if line.strip()]


def _read_pin(line: str) -> Pin:
    requirement = Requirement(_HASH.sub("", line).strip())
    (specifier,) = requirement.specifier
    hashes = tuple(sorted(_HASH.findall(line)))
    if specifier.operator != "==" or not hashes:
        raise ValueError(f"{line.split()[0]!r} is not a pinned version with hashes. Write the lock with `make lock`.")
    return Pin(canonicalize_name(requirement.name), specifier.version, str(requirement.marker or ""), hashes)


def node_locks() -> list[Path]:
    """Return the lock files of npm, of the checks and of the tests and benchmarks that use Node."""
    return [ROOT / "package-lock.json", *sorted(ROOT.glob("*/*/package-lock.json"))]


def read_npm_packages(path: Path) -> list[NpmPackage]:
    """Return the packages of a lock file of npm, each version once."""
    return sorted(set(_npm_packages(json.loads(path.read_text())["packages"])))


def _npm_packages(packages: dict[str, dict[str, str]]) -> Iterator[NpmPackage]:
    for place, entry in packages.items():
        if place:  # the empty one is the project itself
            name = place.rpartition("node_modules/")[2]
            yield NpmPackage(name, entry["version"], entry["integrity"], entry.get("license", ""))
