"""`wattgate readings import` in a process of its own: local time, refused lines and headers."""

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
from wattgate.app.cli.main import app
from wattgate.clock import TimeRange
from wattgate.db.readings.reading_series import ReadingBucket
from wattgate.enums import Function, Period
from wattgate.errors import BadInput
from wattgate.operations.readings import readings
from wattgate.reading_files.csv_columns import CsvColumns

pytestmark = pytest.mark.both_databases("readings and their sums in SQL")

LONDON = ZoneInfo("Europe/London")
HALF_HOUR = timedelta(minutes=30)


@pytest.fixture
async def tenant(database_url: str) -> AsyncIterator[Tenant]:
    async with tenant_on(database_url) as tenant:
        yield tenant


async def run_import(tenant: Tenant, database_url: str, file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return await wattgate(
        database_url, "readings", "import", str(file), "--application", tenant.application_id, *options
    )


async def daily_sums(tenant: Tenant, resource_id: str, start: datetime, end: datetime) -> list[ReadingBucket]:
    arguments = {
        "resource_id": resource_id,
        "range": TimeRange(start, end),
        "period": Period.P1D,
        "function": Function.SUM,
        "time_zone": LONDON,
    }
    series = await tenant.gateway.runner.run(readings.readings, tenant.system, arguments)
    return list(series.buckets)


async def test_year_in_local_time_has_exact_daily_sums_across_clock_changes(
    tenant: Tenant, database_url: str, tmp_path: Path
) -> None:
    start, end = (datetime(year, 1, 1, tzinfo=LONDON).astimezone(UTC) for year in (2025, 2026))
    instants = [start + n * HALF_HOUR for n in range(int((end - start) / HALF_HOUR))]
    file, expected = tmp_path / "year.csv", dict[object, int]()
    with file.open("w", newline="") as csv_file:
        writer = csv.writer(csv_file)
        writer.writerow(["localTime", "value"])
        for n, instant in enumerate(instants):
            local = instant.astimezone(LONDON).replace(tzinfo=None)
            writer.writerow([local.isoformat(), f"{(n * 7919) % 2500 / 1000:.3f}"])
            expected[local.date()] = expected.get(local.date(), 0) + (n * 7919) % 2500
    resource_id = tenant.ids["resource"]
    result = await run_import(tenant, database_url, file, "--resource", resource_id, "--time-zone", "Europe/London")
    assert result.returncode == 0, result.stderr
    assert "17,520 readings recorded from 17,520 lines, 0 refused" in result.stdout
    buckets = await daily_sums(tenant, resource_id, start, end)
    assert [round((day.value or 0) * 1000) for day in buckets] == list(expected.values())
    counts = {datetime.fromisoformat(day.start).astimezone(LONDON).date().isoformat(): day.count for day in buckets}
    assert (counts["2025-03-30"], counts["2025-10-26"], counts["2025-06-01"]) == (46, 50, 48)


async def test_invalid_lines_are_rejected_by_number_and_others_recorded(
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
    (link := tmp_path / "link.csv").hardlink_to(file)
    content = file.read_bytes()
    result = await run_import(tenant, database_url, file, "--dry-run", "--refused", str(link))
    assert (result.returncode, file.read_bytes()) == (1, content)
    assert f"The file {link} is the file to import." in result.stderr
    result = await run_import(tenant, database_url, file, "--refused", str(refused))
    assert result.returncode == 1, result.stderr
    assert "3 readings recorded from 14 lines, 11 refused" in result.stdout
    lines = refused.read_text().splitlines()
    assert sorted(int(line.split(":")[0]) for line in lines) == [3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 16]
    assert "line 3: 'much' is not a number" in result.stderr
    assert "line 5: 2026-02-01T01:10:00.000Z is not on the sampling grid of 0:30:00" in result.stderr
    assert f"line 8: {other} does not exist" in result.stderr
    (day,) = await daily_sums(tenant, resource_id, datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 2, 2, tzinfo=UTC))
    assert (day.value, day.count) == (0.75, 2)


async def test_local_time_skipped_by_clock_change_is_rejected(
    tenant: Tenant, database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "spring.csv"
    file.write_text("localTime;value\n2026-03-29T00:30:00;1\n2026-03-29T01:30:00;1\n2026-03-29T02:00:00;1\n")
    options = ("--resource", tenant.ids["resource"], "--time-zone", "Europe/London")
    result = await run_import(tenant, database_url, file, *options)
    assert result.returncode == 1
    assert "line 3: 2026-03-29T01:30:00 does not exist in Europe/London: the clocks went forward" in result.stderr
    assert "2 readings recorded" in result.stdout


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("at,energy", "the header has no column `value`"),
        ("value", "the header must have exactly one of the columns `at` and `localTime`"),
        ("at,localTime,value", "the header must have exactly one of the columns `at` and `localTime`"),
        ("at,value,resourceId", "use either the column `resourceId` or the option --resource"),
        ("at,value,VALUE,resourceId", "use either the column `resourceId` or the option --resource"),
        ("at,value,Value", "the header has the column `value` twice; remove one of them"),
        ("", "the header has no column `value`"),
    ],
)
def test_invalid_header_is_rejected(header: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        CsvColumns.from_header(header, names_resource=True)


def test_unknown_time_zone_and_missing_file_are_rejected(tmp_path: Path) -> None:
    file = tmp_path / "some.csv"
    file.write_text("at,value\n")
    command = ["readings", "import", "--application", "some"]
    result = CliRunner().invoke(app, [*command, str(file), "--time-zone", "Europe/Leeds"])
    assert result.exit_code == 2
    assert "'Europe/Leeds' is not an IANA time zone" in result.stderr
    result = CliRunner().invoke(app, [*command, str(tmp_path / "none.csv")])
    assert result.exit_code == 2
