"""Each test with a database runs on SQLite or PostgreSQL, and those that need it on both."""

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.support.engines import DATABASES, ENGINES, database_of, engine_of, engines_of
from tests.support.servers import Databases

ROOT = Path(__file__).parents[2]


def test_other_modules_run_on_one_database_and_half_of_them_on_each() -> None:
    modules = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")]
    counts = Counter(map(engine_of, modules))
    assert set(counts) == set(ENGINES)
    assert min(counts.values()) > len(modules) / 3


def test_environment_and_marker_choose_both_databases(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = request.node
    monkeypatch.delenv(DATABASES, raising=False)
    assert engines_of(item) == [engine_of("tests/tools/test_engines.py")]
    monkeypatch.setenv(DATABASES, "both")
    assert engines_of(item) == ENGINES
    monkeypatch.delenv(DATABASES)
    item.add_marker(pytest.mark.both_databases("this test"))
    assert engines_of(item) == ENGINES


def test_tests_of_a_marked_module_run_on_one_database_each_unless_they_need_both(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = request.node
    monkeypatch.delenv(DATABASES, raising=False)
    item.add_marker(pytest.mark.either_database("this module"))
    assert engines_of(item) == [engine_of(f"tests/tools/test_engines.py::{item.originalname}")]
    chosen = Counter(engine_of(f"tests/test_a.py::test_{number}") for number in range(200))
    assert min(chosen[engine] for engine in ENGINES) > 70
    item.add_marker(pytest.mark.both_databases("this test"))
    assert engines_of(item) == ENGINES


@pytest.mark.both_databases("the subject")
@pytest.mark.alternate_databases("the subject")
@pytest.mark.parametrize("number", range(4))
def test_cases_alternate_between_both_databases(
    databases: Databases, number: int, request: pytest.FixtureRequest
) -> None:
    siblings = [
        item
        for item in request.session.items
        if getattr(item, "originalname", "") == request.node.originalname and item.path == request.node.path
    ]
    if len(siblings) < 4:
        pytest.skip("this run has not collected every case")
    each = 4 if os.environ.get(DATABASES) == "both" else 2
    assert Counter(map(database_of, siblings)) == dict.fromkeys(ENGINES, each)
