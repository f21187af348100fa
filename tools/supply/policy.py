"""Rules of the dependency audit, from policy.toml: licences, and accepted yanked releases with their end dates."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

POLICY = Path(__file__).with_name("policy.toml")

YANKED = "yanked"
"""The finding that a release is yanked. Advisories have the names of their registries, and statements in vex.toml."""


@dataclass(frozen=True)
class Accepted:
    """A finding that does not fail the audit until the end of a day."""

    package: str
    finding: str
    reason: str
    until: date


@dataclass(frozen=True)
class LicenceRule:
    """The licence of one package, as an SPDX expression."""

    package: str
    licence: str
    reason: str


@dataclass(frozen=True)
class Policy:
    """The content of policy.toml.

    `stated` completes metadata, `exceptions` allows other licences, `accepted` are yanked releases.
    """

    allowed: frozenset[str]
    stated: Mapping[str, LicenceRule]
    exceptions: Mapping[str, LicenceRule]
    accepted: tuple[Accepted, ...] = ()


def read_policy(path: Path = POLICY) -> Policy:
    """Return the policy. Raise TypeError if an entry has an unknown member or lacks one, ValueError if one is empty."""
    content = tomllib.loads(path.read_text())
    licences = content.pop("licences")
    accepted = tuple(Accepted(finding=YANKED, **entry) for entry in content.pop("yanked", []))
    allowed = frozenset(licences.pop("allowed"))
    stated, exceptions = _rules(licences.pop("stated", [])), _rules(licences.pop("exception", []))
    if unknown := sorted({*content, *licences}):
        raise ValueError(f"unknown members in {path.name}: {', '.join(unknown)}")
    entries: list[Accepted | LicenceRule] = [*accepted, *stated.values(), *exceptions.values()]
    for entry in entries:
        if not entry.reason.strip():
            raise ValueError(f"the entry of {entry.package} in {path.name} has no reason")
    return Policy(allowed, stated, exceptions, accepted)


def _rules(entries: list[dict[str, Any]]) -> dict[str, LicenceRule]:
    return {entry["package"]: LicenceRule(**entry) for entry in entries}
