"""The street on which everything breaks, one for all scenes of a run; and the table of what was found."""

import json
from collections.abc import AsyncIterator, Generator, Mapping
from typing import Any

import pytest

from tests.faults.street import Street, running_street

ROW = "a scene"


@pytest.fixture(scope="session")
async def built_street(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Street]:
    async with running_street(tmp_path_factory.mktemp("street")) as made:
        yield made


@pytest.fixture
async def street(built_street: Street, request: pytest.FixtureRequest) -> Street:
    """Two gateways, a Redis and a PostgreSQL, all of which run when a test begins."""

    def tell(title: str, row: Mapping[str, int]) -> None:
        request.node.user_properties.append((ROW, json.dumps({"scene": title, **row})))

    built_street.tell = tell
    await built_street.mend()
    return built_street


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What the gateways wrote is told with a test that fails."""
    report = yield
    street = getattr(item, "funcargs", {}).get("street")
    if report.failed and street is not None:
        report.sections += [(f"log of gateway {one.name}", one.log) for one in street.gateways]
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The table of what was found, where these tests were asked for."""
    reports = [one for name in ("passed", "failed") for one in terminalreporter.stats.get(name, ())]
    rows = [json.loads(told) for report in reports for name, told in report.user_properties if name == ROW]
    if not rows:
        return
    terminalreporter.section("what was found")
    terminalreporter.write_line("| " + " | ".join(rows[0]) + " |")
    terminalreporter.write_line("|---|" + "---:|" * (len(rows[0]) - 1))
    for row in rows:
        cells = (f"{value:,}" if isinstance(value, int) else value for value in row.values())
        terminalreporter.write_line("| " + " | ".join(cells) + " |")
