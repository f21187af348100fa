"""Vulnerabilities of CPython that concern the gateway, and the releases that correct them.

The sources are the advisories of the Python Software Foundation (https://github.com/psf/advisory-database) and the
changelog of each release. A new advisory belongs here if its module reads input of a client, a mail or an upstream
server in the gateway.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


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
