"""The table of what came of the documents, where a long run was asked for."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.graphql.compiled.running import Report

ROW = "documents"


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Callable[[Report], None]:
    """Puts a report into the table."""

    def told(report: Report) -> None:
        request.node.user_properties.append((ROW, json.dumps({"run": request.node.name, **report.row})))

    return told


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [one for name in ("passed", "failed") for one in terminalreporter.stats.get(name, ())]
    rows = [json.loads(told) for report in reports for name, told in report.user_properties if name == ROW]
    if not rows or "WATTGATE_TEST_FUZZ" not in os.environ:
        return
    numbers = [name for name in rows[0] if name != "run"]
    rows.append({"run": "all", **{name: sum(row[name] for row in rows) for name in numbers}})
    terminalreporter.section("what came of the documents")
    terminalreporter.write_line("| " + " | ".join(rows[0]) + " |")
    terminalreporter.write_line("|---|" + "---:|" * len(numbers))
    for row in rows:
        cells = (f"{value:,}" if isinstance(value, int) else value for value in row.values())
        terminalreporter.write_line("| " + " | ".join(cells) + " |")
