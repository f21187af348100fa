"""The table of results of a long run."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.graphql.compiled.running import Report

REPORT_PROPERTY = "documents"


@pytest.fixture
def record_report(request: pytest.FixtureRequest) -> Callable[[Report], None]:
    """Return a function that adds a report to the table."""

    def add(report: Report) -> None:
        request.node.user_properties.append((REPORT_PROPERTY, json.dumps({"run": request.node.name, **report.row})))

    return add


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [report for name in ("passed", "failed") for report in terminalreporter.stats.get(name, ())]
    rows = [
        json.loads(value) for report in reports for name, value in report.user_properties if name == REPORT_PROPERTY
    ]
    if not rows or "WATTGATE_TEST_FUZZ" not in os.environ:
        return
    numbers = [name for name in rows[0] if name != "run"]
    rows.append({"run": "all", **{name: sum(row[name] for row in rows) for name in numbers}})
    terminalreporter.section("results of the documents")
    terminalreporter.write_line("| " + " | ".join(rows[0]) + " |")
    terminalreporter.write_line("|---|" + "---:|" * len(numbers))
    for row in rows:
        cells = (f"{value:,}" if isinstance(value, int) else value for value in row.values())
        terminalreporter.write_line("| " + " | ".join(cells) + " |")
