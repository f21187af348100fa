#!/usr/bin/env python3
"""Print what the tests of a run cost, in seconds of processor time: by folder, by fixture, and the dearest tests.

    make test-all REPORT=build/tests
    python tools/test_costs.py build/tests
    python tools/test_costs.py build/tests --tests 10    # the ten dearest tests alone

The costs are those of the process that runs the test and of its children that have ended. Servers and browsers that
live longer than a test are not in them.
"""

import argparse
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Cost:
    """A sum of costs in seconds, and the number of its parts."""

    own: float = 0.0
    children: float = 0.0
    clock: float = 0.0
    parts: int = 0

    def add(self, row: dict[str, float]) -> None:
        """Add the row of a report."""
        self.own += row["own"]
        self.children += row["children"]
        self.clock += row["clock"]
        self.parts += 1

    @property
    def processor(self) -> float:
        return self.own + self.children


def main() -> None:
    """Read the report and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of the report")
    parser.add_argument("--tests", type=int, help="print so many of the dearest tests, and no other table")
    options = parser.parse_args()
    rows = [json.loads(line) for file in options.folder.glob("*.jsonl") for line in file.read_text().splitlines()]
    if not rows:
        parser.error(f"{options.folder} has no report. Make one by `make test-all REPORT={options.folder}`")
    tests = [row for row in rows if row["kind"] == "test"]
    if options.tests is None:
        print_table("collection, by process", _sums([row for row in rows if row["kind"] == "collection"], str), 10)
        print_table("all tests", _sums(tests, lambda _: "all"), 1)
        print_table("folders", _sums(tests, folder_of), 50)
        print_table("modules", _sums(tests, lambda name: name.partition("::")[0]), 50)
        print_table("fixtures", _sums([row for row in rows if row["kind"] == "fixture"], str), 50)
    print_table("functions", _sums(tests, lambda name: re.sub(r"\[.*", "", name)), options.tests or 50)


def folder_of(name: str) -> str:
    """Return the folder of a test below `tests`, or its module."""
    path = name.partition("::")[0]
    return "/".join(path.split("/")[:2])


def _sums(rows: list[dict], key) -> dict[str, Cost]:  # type: ignore[no-untyped-def, type-arg]
    sums: dict[str, Cost] = defaultdict(Cost)
    for row in rows:
        sums[key(row["name"])].add(row)
    return sums


def print_table(title: str, sums: dict[str, Cost], count: int) -> None:
    """Print the dearest rows of a table."""
    print(f"\nprocessor s   children    clock s   parts  {title}")
    dearest = sorted(sums.items(), key=lambda item: -item[1].processor)
    for name, cost in dearest[:count]:
        print(f"{cost.processor:11.2f} {cost.children:10.2f} {cost.clock:10.2f} {cost.parts:7d}  {name}")


if __name__ == "__main__":
    main()
