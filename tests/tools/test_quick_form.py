"""`make test-quick` omits tests that start processes."""

from pathlib import Path

import pytest

from tests.support.short_form import COLLECTED

ROOT = Path(__file__).parents[2]
STARTS_PROCESSES = "tests/deploy/test_image.py"
"""A file whose only test builds an image."""

READS_FILES = "tests/deploy/test_readme.py"
"""A file whose tests only read files."""


def test_quick_run_selects_tests_that_only_read(request: pytest.FixtureRequest) -> None:
    assert '-m "not slow"' in (ROOT / "Makefile").read_text()
    slow: dict[str, set[bool]] = {}
    for item in request.config.stash[COLLECTED]:
        file = item.path.relative_to(ROOT).as_posix()
        slow.setdefault(file, set()).add(item.get_closest_marker("slow") is not None)
    if not {STARTS_PROCESSES, READS_FILES} <= slow.keys():
        pytest.skip("this run has not collected tests/deploy")
    assert (slow[STARTS_PROCESSES], slow[READS_FILES]) == ({True}, {False})
