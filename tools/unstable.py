#!/usr/bin/env python3
"""Repeat tests beside two busy loops, each time in another order, and count how often each one fails.

    make unstable TESTS=tests/realtime N=50

Tests that wait for a length of time, or that depend on the tests before them, fail in some of the runs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

BUSY_LOOPS = 2
BUSY = "while True: pass"


def main() -> None:
    """Run the tests and print the failures of each run and of all runs. The exit status is 1 if a test failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=10, help="number of runs")
    parser.add_argument("arguments", nargs="+", help="tests and options of pytest")
    options = parser.parse_args()
    failed: Counter[str] = Counter()
    with ExitStack() as busy:
        for _ in range(BUSY_LOOPS):
            loop = busy.enter_context(subprocess.Popen([sys.executable, "-c", BUSY]))
            busy.callback(loop.kill)
        for number in range(1, options.times + 1):
            failures = run(number, options.arguments)
            failed.update(failures)
            print(f"wattgate: run {number} of {options.times}: {len(failures)} failed", flush=True)
            for name, text in failures.items():
                print(f"  {name}\n    " + text.strip()[-2000:].replace("\n", "\n    "), flush=True)
    for name, count in failed.most_common():
        print(f"{count:5d} of {options.times}  {name}")
    sys.exit(bool(failed))


def run(seed: int, arguments: list[str]) -> dict[str, str]:
    """Run the tests in an order that the seed chooses. Return the failed ones with the text of their failures."""
    with tempfile.TemporaryDirectory(prefix="unstable-") as folder:
        command = [sys.executable, "-m", "pytest", "-q", f"--randomly-seed={seed}", *arguments]
        environment = os.environ | {"WATTGATE_TEST_REPORT": folder}
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        try:
            failures: dict[str, str] = json.loads((Path(folder) / "failures.json").read_text())["failures"]
        except OSError:
            sys.exit(f"wattgate: pytest wrote no report:\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}")
        if ended.returncode not in (0, 1):
            sys.exit(f"wattgate: pytest ended with status {ended.returncode}:\n{ended.stdout[-3000:]}")
        return failures


if __name__ == "__main__":
    main()
