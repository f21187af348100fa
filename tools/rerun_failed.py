#!/usr/bin/env python3
"""Run each failed test of a run once more, alone, and fail if one fails again or if many failed.

    make test-all REPORT=build/tests || python tools/rerun_failed.py build/tests
    python tools/rerun_failed.py build/tests --list    # print the unstable tests of the last call

A test that passes alone is unstable: it fails by chance, or because of the tests before it. CONTRIBUTING.md says what
to do with it.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

MAX_UNSTABLE = 3
"""Maximum number of tests that may fail first and pass alone."""

TESTS_FAILED = 1
"""The exit status of pytest if tests failed, and nothing else went wrong."""

UNSTABLE = "unstable.json"
"""The file with the unstable tests, beside that of the failures."""


def main() -> None:
    """Run the tests, or print those of the last call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of the report of the run")
    parser.add_argument("--list", action="store_true", help="print the unstable tests of the last call")
    options = parser.parse_args()
    if options.list:
        list_unstable(options.folder)
        return
    if problem := rerun(options.folder):
        sys.exit(f"wattgate: {problem}")


def list_unstable(folder: Path) -> None:
    """Print the unstable tests with their first failures."""
    file = folder / UNSTABLE
    unstable = json.loads(file.read_text()) if file.exists() else {}
    print(f"wattgate: {len(unstable)} unstable tests")
    for name, failure in unstable.items():
        print(f"  {name}\n    " + failure.strip()[-3000:].replace("\n", "\n    "))


def rerun(folder: Path) -> str:
    """Run the failed tests of a report alone. Return why the run fails, or an empty text if it passes."""
    try:
        report = json.loads((folder / "failures.json").read_text())
    except OSError as error:
        return f"the tests did not end: {error}"
    failures: dict[str, str] = report["failures"]
    if report["status"] != TESTS_FAILED or not failures:
        return f"the tests ended with status {report['status']} of pytest, which is not that of failed tests"
    if len(failures) > MAX_UNSTABLE:
        return f"{len(failures)} tests failed. More than {MAX_UNSTABLE} are not tried again"
    unstable = {name: failure for name, failure in failures.items() if _passes_alone(name)}
    (folder / UNSTABLE).write_text(json.dumps(unstable))
    again = failures.keys() - unstable.keys()
    return f"{len(again)} tests failed twice: {', '.join(sorted(again))}" if again else ""


def _passes_alone(name: str) -> bool:
    print(f"wattgate: running again, alone: {name}", flush=True)
    environment = {key: value for key, value in os.environ.items() if key != "WATTGATE_TEST_REPORT"}
    return subprocess.run([sys.executable, "-m", "pytest", "-q", name], env=environment, check=False).returncode == 0


if __name__ == "__main__":
    main()
