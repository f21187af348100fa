"""The street on which everything breaks, one for all scenes of a run; and the table of what was found."""

import json
from collections.abc import AsyncIterator, Generator, Mapping
from typing import Any

import pytest

from tests.faults.environment import Environment, running_environment

ROW_PROPERTY = "a scene"


@pytest.fixture(scope="session")
async def shared_environment(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Environment]:
    async with running_environment(tmp_path_factory.mktemp("street")) as started:
        yield started


@pytest.fixture
async def environment(shared_environment: Environment, request: pytest.FixtureRequest) -> Environment:
    """Two gateways, a Redis and a PostgreSQL, all of which run when a test begins."""

    def report_row(title: str, row: Mapping[str, int]) -> None:
        request.node.user_properties.append((ROW_PROPERTY, json.dumps({"scene": title, **row})))

    shared_environment.report_row = report_row
    await shared_environment.start_all()
    return shared_environment


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What the gateways wrote is told with a test that fails."""
    report = yield
    environment = getattr(item, "funcargs", {}).get("environment")
    if report.failed and environment is not None:
        report.sections += [(f"log of gateway {gateway.name}", gateway.log) for gateway in environment.gateways]
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The table of what was found, where these tests were asked for."""
    reports = [report for name in ("passed", "failed") for report in terminalreporter.stats.get(name, ())]
    rows = [json.loads(value) for report in reports for name, value in report.user_properties if name == ROW_PROPERTY]
    if not rows:
        return
    terminalreporter.section("what was found")
    terminalreporter.write_line("| " + " | ".join(rows[0]) + " |")
    terminalreporter.write_line("|---|" + "---:|" * (len(rows[0]) - 1))
    for row in rows:
        cells = (f"{value:,}" if isinstance(value, int) else value for value in row.values())
        terminalreporter.write_line("| " + " | ".join(cells) + " |")
