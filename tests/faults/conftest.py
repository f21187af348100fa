"""The environment of the fault tests, shared by all scenes of a run, and the table of results."""

import json
from collections.abc import AsyncIterator, Generator, Mapping
from typing import Any

import pytest

from tests.faults.environment import Environment, ReportRow, running_environment

ROW_PROPERTY = "scene"


@pytest.fixture(scope="session")
async def shared_environment(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Environment]:
    async with running_environment(tmp_path_factory.mktemp("street")) as started:
        yield started


@pytest.fixture
async def environment(shared_environment: Environment, request: pytest.FixtureRequest) -> Environment:
    """Two gateways, a Redis and a PostgreSQL, which all run when a test starts."""

    shared_environment.report_row = report_rows_of(request.node)
    await shared_environment.start_all()
    return shared_environment


def report_rows_of(item: pytest.Item) -> ReportRow:
    """Return the function that adds rows of the table of results to the report of a test."""

    def report_row(title: str, row: Mapping[str, int]) -> None:
        item.user_properties.append((ROW_PROPERTY, json.dumps({"scene": title, **row})))

    return report_row


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the logs of the gateways to the report of a failed test."""
    report = yield
    environment = getattr(item, "funcargs", {}).get("environment")
    if report.failed and environment is not None:
        report.sections += [(f"log of gateway {gateway.name}", gateway.log) for gateway in environment.gateways]
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the table of results, if fault tests ran."""
    reports = [report for name in ("passed", "failed") for report in terminalreporter.stats.get(name, ())]
    rows = [json.loads(value) for report in reports for name, value in report.user_properties if name == ROW_PROPERTY]
    if not rows:
        return
    terminalreporter.section("results of the scenes")
    terminalreporter.write_line("| " + " | ".join(rows[0]) + " |")
    terminalreporter.write_line("|---|" + "---:|" * (len(rows[0]) - 1))
    for row in rows:
        cells = (f"{value:,}" if isinstance(value, int) else value for value in row.values())
        terminalreporter.write_line("| " + " | ".join(cells) + " |")
