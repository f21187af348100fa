"""On which databases a test runs: SQLite, PostgreSQL or both.

Tests of tests/db run on both, and so do modules with the marker `both_databases`: conformance, separation of users and
applications, and a main path of each area. Each other module runs on one database, which the hash of its name chooses.
In a module with the marker `either_database`, the hash of its name chooses for each test, so the module runs on both.
With `alternate_databases`, each case of a test on both databases runs on one of them, in turns.
With WATTGATE_TEST_DATABASES=both, every test with a database runs on both.
"""

import hashlib
import os
from collections import defaultdict
from pathlib import Path

import pytest

ENGINES = ["sqlite", "postgresql"]

DATABASES = "WATTGATE_TEST_DATABASES"
"""The environment variable with which every test runs on both databases."""

BOTH_DATABASES = "both_databases"
"""The marker of tests that run on both databases. Its argument is the reason."""

EITHER_DATABASE = "either_database"
"""The marker of modules whose tests run on one database each. Tests with the other marker still run on both."""

ALTERNATE_DATABASES = "alternate_databases"
"""The marker of tests on both databases whose cases run on one of them each, in turns."""

ALWAYS_BOTH = "tests/db/"
"""The folder whose tests run on both databases."""


def parametrize_databases(metafunc: pytest.Metafunc) -> None:
    """Choose the databases of a test that uses one, unless the test chooses them itself."""
    if "databases" not in metafunc.fixturenames:
        return
    chosen_by_test = any("databases" in str(mark.args[0]) for mark in metafunc.definition.iter_markers("parametrize"))
    if not chosen_by_test:
        metafunc.parametrize("databases", engines_of(metafunc.definition), indirect=True, scope="session")


def engines_of(item: pytest.Item) -> list[str]:
    """Return the databases on which a test runs."""
    module = item.nodeid.partition("::")[0]
    is_both = (
        os.environ.get(DATABASES) == "both"
        or module.startswith(ALWAYS_BOTH)
        or item.get_closest_marker(BOTH_DATABASES) is not None
    )
    if is_both:
        return ENGINES
    is_either = item.get_closest_marker(EITHER_DATABASE) is not None
    return [engine_of(item.nodeid.partition("[")[0] if is_either else module)]


def other_turns(items: list[pytest.Item]) -> set[str]:
    """Return the ids of the cases to leave out, because it is the turn of the other database.

    A case that was collected on one database only stays, such as one that the command line names.
    """
    cases: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for item in items:
        if item.get_closest_marker(ALTERNATE_DATABASES) is not None and (engine := database_of(item)):
            function, _, parameters = item.nodeid.partition("[")
            cases[function, parameters.replace(engine, "", 1)][engine] = item.nodeid
    if os.environ.get(DATABASES) == "both":
        return set()
    turns: dict[str, int] = defaultdict(int)
    left_out = set()
    for (function, _), by_engine in cases.items():
        if len(by_engine) == len(ENGINES):
            left_out.add(by_engine[ENGINES[turns[function] % len(ENGINES)]])
            turns[function] += 1
    return left_out


def database_of(item: pytest.Item) -> str | None:
    """Return the database of a test, if it has one."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("databases") if callspec else None


def engine_of(name: str) -> str:
    """Return the database of a module by its path below the root of the repository, or of a test by its id."""
    return ENGINES[hashlib.sha256(Path(name).as_posix().encode()).digest()[0] % len(ENGINES)]
