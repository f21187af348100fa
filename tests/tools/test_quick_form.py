"""`make test-quick` omits tests that start processes."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = ("tests/deploy/test_image.py", "tests/deploy/test_readme.py")
"""A file whose only test builds an image, and one whose tests only read files."""


def test_quick_run_selects_tests_that_only_read() -> None:
    assert '-m "not slow"' in (ROOT / "Makefile").read_text()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:xdist", "-m", "not slow", *FILES]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    selected = {line.partition("::")[0] for line in result.stdout.splitlines() if "::" in line}
    assert selected == {"tests/deploy/test_readme.py"}
