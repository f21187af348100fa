"""On which databases a test runs: SQLite, PostgreSQL or both.

Tests of tests/db run on both, and so do modules with the marker `both_databases`: conformance, separation of users and
applications, and a main path of each area. Each other module runs on one database, which the hash of its name chooses.
In a module with the marker `either_database`, the hash of its name chooses for each test, so the module runs on both.
With WATTGATE_TEST_DATABASES=both, every test with a database runs on both.
"""

import hashlib
import os
from pathlib import Path

import pytest

ENGINES = ["sqlite", "postgresql"]

DATABASES = "WATTGATE_TEST_DATABASES"
"""The environment variable with which every test runs on both databases."""

BOTH_DATABASES = "both_databases"
"""The marker of tests that run on both databases. Its argument is the reason."""

EITHER_DATABASE = "either_database"
"""The marker of modules whose tests run on one database each. Tests with the other marker still run on both."""

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


def engine_of(name: str) -> str:
    """Return the database of a module by its path below the root of the repository, or of a test by its id."""
    return ENGINES[hashlib.sha256(Path(name).as_posix().encode()).digest()[0] % len(ENGINES)]
