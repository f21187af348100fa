"""Compare the interpreter with the known vulnerabilities of CPython that concern the gateway."""

from collections.abc import Sequence

from supply.registries import Answer, Finding
from wattgate.app.cli.checks.hardening import PYTHON_ADVISORIES, find_advisories

PACKAGE = "python"
"""The name of the component in the statements of vex.toml."""


def check_interpreter(version: Sequence[int]) -> Answer:
    """Return the advisories of a version of CPython, such as (3, 11, 7). The table needs no registry."""
    name = ".".join(map(str, version[:3]))
    findings = [Finding(PACKAGE, name, advisory.id, advisory.effect) for advisory in find_advisories(version)]
    question = f"advisories of CPython ({len(PYTHON_ADVISORIES)} known)"
    return Answer(question, 1, tuple(findings))
