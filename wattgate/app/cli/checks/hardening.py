"""Check what an operator may have left open: the interpreter, bounds that are off, files that others can read."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import make_url

from wattgate.app.cli.checks.result import CheckResult, passed, warning
from wattgate.app.erasure_list import LIST_FILE_SUFFIX
from wattgate.app.secret_keys import KEY_FILE_SUFFIX
from wattgate.app.settings import ClientLimitSettings, Settings
from wattgate.db.connections.database_name import sqlite_file
from wattgate.private_files import others_can_read
from wattgate.requests.request_limits import BODY_MEMORY_BYTES

FAR_FACTOR = 100
"""A bound above this multiple of its default counts as open."""

NO_BOUNDS = {"caller_budget_seconds", "budget_seconds", "trusted_proxies"}
"""Settings of the limits for clients that bound nothing when they grow."""

MIN_PROXY_PREFIX = 7
"""The smallest prefix of a network of proxies: fc00::/7 has all unique local addresses of IPv6."""

OTHER_BOUNDS = ("application_records", "max_body_bytes")
"""Bounds among the other settings."""


def check_hardening(settings: Settings) -> list[CheckResult]:
    """Run all checks that need no server."""
    return [check_interpreter(sys.version_info[:3]), check_bounds(settings), *check_files(settings)]


def check_interpreter(version: Sequence[int]) -> CheckResult:
    """Check a version of CPython against the known vulnerabilities."""
    name = ".".join(map(str, version[:3]))
    advisories = find_advisories(version)
    if not advisories:
        return passed("Python", f"{name} has none of the known vulnerabilities that concern the gateway")
    release = max(advisory.corrected[version[0], version[1]] for advisory in advisories)
    effects = "; ".join(f"{advisory.id}: {advisory.effect}" for advisory in advisories)
    return warning(
        "Python",
        f"{name} has known vulnerabilities, unless its distributor has corrected them: {effects}. Install Python "
        f"{version[0]}.{version[1]}.{release} or newer",
    )


def check_bounds(settings: Settings) -> CheckResult:
    """Check that no bound is switched off or far above its default, and that strangers are no trusted proxies."""
    if opened := [f"WATTGATE_{name.upper()} {problem}" for name, problem in _open_bounds(settings)]:
        return warning("bounds", f"{', '.join(opened)}: a few clients can take the gateway from all others")
    return passed("bounds", "no limit for clients is switched off or far above its default")


def _open_bounds(settings: Settings) -> Iterator[tuple[str, str]]:
    for name in (*(name for name in ClientLimitSettings.model_fields if name not in NO_BOUNDS), *OTHER_BOUNDS):
        value, default = getattr(settings, name), Settings.model_fields[name].default
        if value == 0:
            yield name, "is 0, which means no limit"
        elif value > FAR_FACTOR * default:
            yield name, f"is {value:,}, more than {FAR_FACTOR} times its default"
    if settings.body_memory > FAR_FACTOR * BODY_MEMORY_BYTES:
        yield "kept_body_bytes", f"is {settings.body_memory:,}, more than {FAR_FACTOR} times its default"
    for network in settings.trusted_proxies:
        if network.prefixlen < MIN_PROXY_PREFIX:
            yield "trusted_proxies", f"has {network}, so that clients choose the addresses that limits count"


def check_files(settings: Settings) -> list[CheckResult]:
    """Check that no file with personal data or keys can be read by others."""
    files = [file for file in _private_files(settings) if file.exists()]
    if not files:
        return []
    if open_files := [str(file) for file in files if others_can_read(file)]:
        names = " ".join(open_files)
        return [warning("files", f"other users can read {', '.join(open_files)}. Run: chmod 600 {names}")]
    return [passed("files", "only their owner can read the files with personal data and keys")]


def _private_files(settings: Settings) -> list[Path]:
    files = [settings.secret_keys_file, settings.erasure_list]
    database = sqlite_file(make_url(settings.database_url))
    if database is not None:
        suffixes = ("", "-wal", "-shm", KEY_FILE_SUFFIX, LIST_FILE_SUFFIX)
        files += [database.with_name(f"{database.name}{suffix}") for suffix in suffixes]
    return [file for file in files if file is not None]


# Vulnerabilities of CPython that concern the gateway, and the releases that correct them.
#
# The sources are the advisories of the Python Software Foundation (https://github.com/psf/advisory-database) and the
# changelog of each release. A new advisory belongs here if its module reads input of a client, a mail or an upstream
# server in the gateway.


@dataclass(frozen=True, slots=True)
class PythonAdvisory:
    """A vulnerability, and the first release of each affected series that corrects it.

    A series is a pair such as (3, 11), with the number of the release in it. Later series never had the fault.
    """

    id: str
    effect: str
    corrected: Mapping[tuple[int, int], int]

    def affects(self, version: Sequence[int]) -> bool:
        """Return whether a version, such as (3, 11, 7), has the vulnerability."""
        major, minor, release = version[:3]
        return release < self.corrected.get((major, minor), 0)


PYTHON_ADVISORIES = (
    PythonAdvisory(
        "CVE-2024-4032",
        "ipaddress takes some private addresses for public ones, which the rules for outbound requests need",
        {(3, 11): 10, (3, 12): 4},
    ),
    PythonAdvisory(
        "CVE-2024-6923",
        "the email package writes headers of mails with line ends in them",
        {(3, 11): 10, (3, 12): 5},
    ),
    PythonAdvisory(
        "CVE-2024-7592",
        "http.cookies takes quadratic time for a cookie",
        {(3, 11): 10, (3, 12): 6},
    ),
    PythonAdvisory(
        "CVE-2024-8088",
        "zipfile reads some archives without end",
        {(3, 11): 10, (3, 12): 6},
    ),
)


def find_advisories(version: Sequence[int]) -> list[PythonAdvisory]:
    """Return the advisories of the table that concern a version of CPython."""
    return [advisory for advisory in PYTHON_ADVISORIES if advisory.affects(version)]
