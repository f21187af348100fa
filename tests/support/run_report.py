"""A report of a test run, in files: what each test and fixture costs, and which tests failed.

The environment variable names a folder, in which each process of the run writes a file. `tools/test_costs.py` prints
the costs, and `tools/rerun_failed.py` runs the failed tests again.
"""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

FOLDER = "WATTGATE_TEST_REPORT"
"""The environment variable that names the folder of the report."""

FAILURES = "failures.json"
"""The file with the exit status of the run and its failed tests."""


@dataclass(frozen=True, slots=True)
class Used:
    """Seconds that a process has used: processor time of its own, of children that have ended, and by the clock."""

    own: float
    children: float
    clock: float

    @classmethod
    def now(cls) -> "Used":
        times = os.times()
        return cls(times.user + times.system, times.children_user + times.children_system, time.perf_counter())

    def __sub__(self, other: "Used") -> "Used":
        return Used(self.own - other.own, self.children - other.children, self.clock - other.clock)

    def __add__(self, other: "Used") -> "Used":
        return Used(self.own + other.own, self.children + other.children, self.clock + other.clock)


class CostRecorder:
    """Writes what the collection, each fixture and each test of this process cost, one JSON object a line.

    The cost of a fixture is that of its setup without the fixtures that it needs. The cost of a test includes the
    setup of fixtures that it is the first to need.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / f"{os.environ.get('PYTEST_XDIST_WORKER', 'main')}.jsonl").open("a", buffering=1)
        self._needed: list[Used] = []
        self._started = Used.now()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._write("collection", f"{len(session.items)} tests", Used.now() - self._started)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        before = Used.now()
        self._needed.append(Used(0, 0, 0))
        try:
            return (yield)
        finally:
            used = Used.now() - before
            needed = self._needed.pop()
            if self._needed:
                self._needed[-1] += used
            self._write("fixture", fixturedef.argname, used - needed)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before = Used.now()
        try:
            return (yield)
        finally:
            self._write("test", item.nodeid, Used.now() - before)

    def _write(self, kind: str, name: str, used: Used) -> None:
        row = {"kind": kind, "name": name, "own": used.own, "children": used.children, "clock": used.clock}
        self._file.write(json.dumps(row) + "\n")


class FailureRecorder:
    """Writes the failed tests of a run with the text of their first failure. It runs in the process that reports."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FAILURES
        self._failures: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failures.setdefault(report.nodeid, f"{report.head_line} ({report.when})\n{report.longreprtext}")

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self._file.write_text(json.dumps({"status": int(exitstatus), "failures": self._failures}))


def register(config: pytest.Config) -> None:
    """Record the report of this process if the environment names a folder."""
    if not (name := os.environ.get(FOLDER)):
        return
    folder = Path(name)
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    if is_worker or not config.getoption("numprocesses", None):
        config.pluginmanager.register(CostRecorder(folder))
    if not is_worker:
        folder.mkdir(parents=True, exist_ok=True)
        config.pluginmanager.register(FailureRecorder(folder))
