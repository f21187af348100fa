"""`wattgate readings import`, run as a user runs it."""

import csv
import subprocess
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from typer.testing import CliRunner

from tests.support.command import wattgate
from tests.support.house import Tenant, tenant_on
from wattgate.app.cli.imports.readings import Columns
from wattgate.app.cli.main import app
from wattgate.clock import TimeRange
from wattgate.db.readings.reading_series import Bucket
from wattgate.enums import Function, Period
from wattgate.errors import BadInput
from wattgate.graphql.resolvers import readings

LONDON = ZoneInfo("Europe/London")
HALF_HOUR = timedelta(minutes=30)


@pytest.fixture
async def tenant(database_url: str) -> AsyncIterator[Tenant]:
    async with tenant_on(database_url) as made:
        yield made


async def run_import(tenant: Tenant, database_url: str, file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return await wattgate(
        database_url, "readings", "import", str(file), "--application", tenant.application_id, *options
    )


async def days(tenant: Tenant, resource_id: str, start: datetime, end: datetime) -> list[Bucket]:
    arguments = {
        "resource_id": resource_id,
        "range": TimeRange(start, end),
        "period": Period.P1D,
        "function": Function.SUM,
        "time_zone": LONDON,
    }
    series = await tenant.gateway.runner.run(readings.readings, tenant.system, arguments)
    return list(series.buckets)


async def test_a_year_in_local_time_has_46_and_50_slots_where_clocks_change_and_exact_daily_sums(
    tenant: Tenant, database_url: str, tmp_path: Path
) -> None:
    start, end = (datetime(year, 1, 1, tzinfo=LONDON).astimezone(UTC) for year in (2025, 2026))
    instants = [start + n * HALF_HOUR for n in range(int((end - start) / HALF_HOUR))]
    file, expected = tmp_path / "year.csv", dict[object, int]()
    with file.open("w", newline="") as sink:
        writer = csv.writer(sink)
        writer.writerow(["localTime", "value"])
        for n, instant in enumerate(instants):
            local = instant.astimezone(LONDON).replace(tzinfo=None)
            writer.writerow([local.isoformat(), f"{(n * 7919) % 2500 / 1000:.3f}"])
            expected[local.date()] = expected.get(local.date(), 0) + (n * 7919) % 2500
    resource_id = tenant.ids["resource"]
    done = await run_import(tenant, database_url, file, "--resource", resource_id, "--time-zone", "Europe/London")
    assert done.returncode == 0, done.stderr
    assert "17,520 readings recorded from 17,520 lines, 0 refused" in done.stdout
    found = await days(tenant, resource_id, start, end)
    assert [round((day.value or 0) * 1000) for day in found] == list(expected.values())
    counts = {datetime.fromisoformat(day.start).astimezone(LONDON).date().isoformat(): day.count for day in found}
    assert (counts["2025-03-30"], counts["2025-10-26"], counts["2025-06-01"]) == (46, 50, 48)


async def test_broken_lines_are_refused_by_number_and_the_others_recorded(
    tenant: Tenant, database_url: str, tmp_path: Path
) -> None:
    resource_id, other = tenant.ids["resource"], "00000000-0000-4000-8000-000000000000"
    file, refused = tmp_path / "broken.csv", tmp_path / "refused.txt"
    file.write_bytes(
        "\n".join(
            [
                "\ufeffresourceId,at,value,field",
                f"{resource_id},2026-02-01T00:00:00Z,0.5,",
                f"{resource_id},2026-02-01T00:30:00Z,much,",
                f"{resource_id},yesterday,0.5,",
                f"{resource_id},2026-02-01T01:10:00Z,0.5,ENERGY",
                f"{resource_id},2026-02-01T01:30:00,-1,",
                "",
                f"{other},2026-02-01T02:00:00Z,0.5,",
                f"{resource_id},2026-02-01T02:00:00Z,0.5,VOLTAGE",
                f"{resource_id}",
                f'"{resource_id},2026-02-01T02:30:00Z,0.5,',
                f"{resource_id},2999-01-01T00:00:00Z,0.5,",
                "x" * 200_000,
                f"{resource_id},2026-02-01T03:00:00+01:00,0.25,",
                f"{resource_id},2026-02-01T04:00:07Z,-250,POWER",
            ]
        ).encode()
        + b"\n\xff\xfe,,\n"
    )
    done = await run_import(tenant, database_url, file, "--refused", str(refused))
    assert done.returncode == 1, done.stderr
    assert "3 readings recorded from 14 lines, 11 refused" in done.stdout
    lines = refused.read_text().splitlines()
    assert sorted(int(line.split(":")[0]) for line in lines) == [3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 16]
    assert "line 3: 'much' is not a number" in done.stderr
    assert "line 5: 2026-02-01T01:10:00.000Z is not on the sampling grid of 0:30:00" in done.stderr
    assert f"line 8: {other} does not exist" in done.stderr
    (day,) = await days(tenant, resource_id, datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 2, 2, tzinfo=UTC))
    assert (day.value, day.count) == (0.75, 2)


async def test_a_local_time_that_the_clocks_skip_is_refused(tenant: Tenant, database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "spring.csv"
    file.write_text("localTime;value\n2026-03-29T00:30:00;1\n2026-03-29T01:30:00;1\n2026-03-29T02:00:00;1\n")
    options = ("--resource", tenant.ids["resource"], "--time-zone", "Europe/London")
    done = await run_import(tenant, database_url, file, *options)
    assert done.returncode == 1
    assert "line 3: 2026-03-29T01:30:00 does not exist in Europe/London: the clocks went forward" in done.stderr
    assert "2 readings recorded" in done.stdout


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("at,energy", "the header has no column `value`"),
        ("value", "the header has either a column `at` or a column `localTime`"),
        ("at,localTime,value", "the header has either a column `at` or a column `localTime`"),
        ("at,value,resourceId", "either the header has a column `resourceId`, or one resource is named"),
        ("", "the header has no column `value`"),
    ],
)
def test_a_header_that_makes_no_sense_is_told(header: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        Columns.of(header, "the one resource", LONDON)


def test_a_zone_and_a_file_that_do_not_exist_are_told(tmp_path: Path) -> None:
    file = tmp_path / "some.csv"
    file.write_text("at,value\n")
    command = ["readings", "import", "--application", "some"]
    done = CliRunner().invoke(app, [*command, str(file), "--time-zone", "Europe/Leeds"])
    assert done.exit_code == 2
    assert "Europe/Leeds is not an IANA time zone" in done.stderr
    done = CliRunner().invoke(app, [*command, str(tmp_path / "none.csv")])
    assert done.exit_code == 2
