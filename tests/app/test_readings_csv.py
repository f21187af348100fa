"""CSV import of readings: repeated local hours, qualities, contradictions, digits, ends of files, and memory."""

import asyncio
import io
import json
import sys
from asyncio.subprocess import PIPE
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.support.house import House, Tenant, tenant_on
from tests.support.servers import Databases
from wattgate.clock import to_ms
from wattgate.errors import TooLarge
from wattgate.operations.readings import bulk_recorder
from wattgate.operations.readings.files import file_import as imported_readings
from wattgate.operations.readings.files import staged_readings
from wattgate.operations.readings.files.file_import import import_csv
from wattgate.operations.readings.files.file_targets import UnitOptions

ROOT = Path(__file__).parents[2]
LONDON = ZoneInfo("Europe/London")
TWICE = "the same instant is given twice with different values: line {} has {} (ACTUAL) at 2026-02-01T00:00:00.000Z"


@dataclass
class ImportResult:
    """The report of an import, with its refused lines and progress."""

    lines: int = 0
    recorded: int = 0
    repeated: int = 0
    changes: tuple[int, int, int] = (0, 0, 0)
    series: list[tuple[str, int, int | None, int | None, str]] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    progress: list[int] = field(default_factory=list)


async def import_text(
    tenant: Tenant,
    resource_id: str | None,
    content: str | bytes,
    zone: tzinfo = UTC,
    **options: Any,
) -> ImportResult:
    result = ImportResult()
    report = await import_csv(
        io.BytesIO(content.encode() if isinstance(content, str) else content),
        run=tenant.gateway.runner.run_as(tenant.system),
        resource_id=resource_id,
        zone=zone,
        refuse=result.refused.__setitem__,
        progress=result.progress.append,
        **options,
    )
    assert report.refused == len(result.refused)
    assert report.lines == report.recorded + report.refused + report.repeated
    assert report.recorded == report.added + report.replaced + report.unchanged
    assert result.progress == sorted(result.progress)
    result.lines, result.recorded, result.repeated = report.lines, report.recorded, report.repeated
    result.changes = report.added, report.replaced, report.unchanged
    result.series = [
        (one.target.field.name, one.summary.count, one.summary.first, one.summary.last, str(one.summary.total))
        for one in report.series
    ]
    return result


async def stored_values(house: House, resource_id: str, name: str = "ENERGY") -> dict[str, float]:
    readings = await house.one.run("raw_readings", resource_id=resource_id, field=name)
    return {at[11:16]: value for at, value in zip(readings.at, readings.value, strict=True)}


@pytest.fixture
async def resource_id(served: House) -> str:
    return await served.one.add_resource()


CLOCK_CHANGE_TIMES = ["00:30", "01:00", "01:30", "01:00", "01:30", "02:00"]
"""Local times in London in the night of 26 October 2025, when the clocks went back."""


def clock_change_csv(times: list[str], first: int = 1) -> str:
    return "localTime,value\n" + "".join(f"2025-10-26T{time}:00,{n}\n" for n, time in enumerate(times, start=first))


async def test_repeated_local_hour_gives_two_hours_of_readings(served: House, resource_id: str) -> None:
    result = await import_text(served.one, resource_id, clock_change_csv(CLOCK_CHANGE_TIMES), LONDON)
    assert (result.recorded, result.refused) == (6, {})
    assert await stored_values(served, resource_id) == {
        "23:30": 1,
        "00:00": 2,
        "00:30": 3,
        "01:00": 4,
        "01:30": 5,
        "02:00": 6,
    }


async def test_local_hour_that_occurs_three_times_is_rejected(served: House, resource_id: str) -> None:
    result = await import_text(
        served.one, resource_id, clock_change_csv([*CLOCK_CHANGE_TIMES[:5], "01:00", "01:30", "02:00"]), LONDON
    )
    assert (result.recorded, list(result.refused)) == (2, [3, 4, 5, 6, 7, 8])
    assert await stored_values(served, resource_id) == {"23:30": 1, "02:00": 8}


async def test_repeated_local_hour_is_tracked_for_each_field(served: House, resource_id: str) -> None:
    lines = [
        f"2025-10-26T{time}:00,{n},{name}" for n, time in enumerate(CLOCK_CHANGE_TIMES) for name in ("ENERGY", "POWER")
    ]
    result = await import_text(served.one, resource_id, "\n".join(["localTime,value,field", *lines]), LONDON)
    assert (result.recorded, result.refused) == (12, {})
    expected = {"23:30": 0, "00:00": 1, "00:30": 2, "01:00": 3, "01:30": 4, "02:00": 5}
    assert await stored_values(served, resource_id) == await stored_values(served, resource_id, "POWER") == expected


async def test_quality_column_ignores_case_and_defaults_to_actual(served: House, resource_id: str) -> None:
    names = ["ACTUAL", "estimated", "", " Substituted ", "QUESTIONABLE", "GUESSED"]
    lines = [f"2026-02-01T00:{30 * (n % 2):02d}:00+0{9 - n // 2}:00,{name},1" for n, name in enumerate(names)]
    result = await import_text(served.one, resource_id, "\n".join(["at,Quality,VALUE", *lines]))
    assert result.refused == {7: "'GUESSED' is not a quality; use one of: ACTUAL, ESTIMATED, SUBSTITUTED, QUESTIONABLE"}
    readings = await served.one.run("raw_readings", resource_id=resource_id)
    expected = ["ACTUAL", "ESTIMATED", "ACTUAL", "SUBSTITUTED", "QUESTIONABLE"]
    assert [getattr(quality, "name", quality) for quality in readings.quality] == expected


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("0.1234", "0.1234 has more than the 3 decimal places of ENERGY"),
        ("0.12345678901234567", "0.12345678901234567 has more digits than can be stored"),
        ("1000000000000.000", "1000000000000 is too large for ENERGY"),
        ("nan", "'nan' is not a number"),
        ("-inf", "'-inf' is not a number"),
        ("", "'' is not a number"),
        ("1,5", None),
        ("1_000", "'1_000' is not a number"),
        ("0x10", "'0x10' is not a number"),
        ("1" * 400, f"'{'1' * 64}' is not a number"),
    ],
)
async def test_value_that_cannot_be_stored_exactly_is_rejected(
    served: House, resource_id: str, value: str, reason: str | None
) -> None:
    result = await import_text(
        served.one, resource_id, f"at;value\n2026-02-01T00:00:00Z;{value}\n2026-02-01T00:30:00Z;0.250000000000000000000"
    )
    assert list(result.refused) == [2]
    assert result.refused[2].startswith(reason or "'1,5' is not a number")
    assert await stored_values(served, resource_id) == {"00:30": 0.25}


async def test_first_of_contradicting_values_is_stored(served: House, resource_id: str) -> None:
    at = "2026-02-01T00:00:00Z"
    result = await import_text(
        served.one, resource_id, f"at,value\n{at},1\n{at},2\n2026-02-01T01:00:00+01:00,1.000\n{at},3\n"
    )
    assert (result.lines, result.recorded, result.refused) == (4, 1, dict.fromkeys((3, 5), TWICE.format(2, 1)))
    assert await stored_values(served, resource_id) == {"00:00": 1}


@pytest.mark.parametrize("size", [1, 2, 3, 100])
async def test_invalid_line_does_not_hide_a_valid_one_of_the_instant(
    served: House, resource_id: str, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(bulk_recorder, "BATCH_SIZE", size)
    first, second, third = (f"2026-02-01T0{hour}:00:00Z" for hour in range(3))
    lines = [
        *((first, "1.2345"), (first, "-1"), (first, "1"), (first, "-1"), (first, "1"), (first, "2")),
        *((second, "-1"), (second, "-1"), (third, "3"), (third, "1e300")),
    ]
    text = "at,value\n" + "".join(f"{at},{value}\n" for at, value in lines)
    result = await import_text(served.one, resource_id, text)
    assert (result.lines, result.recorded, result.repeated) == (10, 2, 1)
    assert await stored_values(served, resource_id) == {"00:00": 1, "02:00": 3}
    negative = "-1 is negative; ENERGY takes no negative values"
    reasons = {3: negative, 5: negative, 7: TWICE.format(4, 1), 8: negative, 9: negative}
    assert {line: result.refused[line] for line in reasons} == reasons
    assert sorted(result.refused) == [2, *reasons, 11]


async def test_values_are_validated_in_the_unit_of_the_field(served: House, resource_id: str) -> None:
    at = "2026-02-01T00:00:00Z"
    result = await import_text(served.one, resource_id, f"at,value\n{at},1250.5\n{at},1250\n", units=UnitOptions("Wh"))
    assert (result.recorded, list(result.refused)) == (1, [2])
    assert await stored_values(served, resource_id) == {"00:00": 1.25}


async def test_contradictions_are_refused_and_repeats_counted_across_batches(
    served: House, resource_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_recorder, "BATCH_SIZE", 2)
    monkeypatch.setattr(staged_readings, "BUFFERED_LINES", 3)
    values = {"00:00:00Z": 1, "00:30:00Z": 1, "01:00:00Z": 5, "01:30:00Z": 1, "00:00:00Z ": 2, "01:00:00.000Z": 5}
    text = "at,value\n" + "".join(f"2026-02-01T{time.strip()},{value}\n" for time, value in values.items())
    text += "2026-02-01T01:00:00+01:00,1.0\n"
    result = await import_text(served.one, resource_id, text)
    assert (result.lines, result.recorded, result.repeated) == (7, 4, 2)
    assert result.refused == {6: TWICE.format(2, 1)}
    assert await stored_values(served, resource_id) == {"00:00": 1, "00:30": 1, "01:00": 5, "01:30": 1}


async def test_values_with_different_qualities_contradict_each_other(served: House, resource_id: str) -> None:
    at = "2026-02-01T00:00:00Z"
    result = await import_text(served.one, resource_id, f"at,value,quality\n{at},1,ESTIMATED\n{at},1,\n")
    assert result.refused == {3: TWICE.format(2, 1).replace("ACTUAL", "ESTIMATED")}


async def test_field_by_name_and_by_default_is_the_same_series(served: House, resource_id: str) -> None:
    at = "2026-02-01T00:00:00Z"
    result = await import_text(served.one, resource_id, f"at,value,field\n{at},1,\n{at},2,ENERGY\n{at},3,POWER\n")
    assert (result.recorded, result.refused) == (2, {3: TWICE.format(2, 1)})


@pytest.mark.parametrize("dry_run", [True, False])
async def test_result_counts_new_replaced_and_unchanged_readings(
    served: House, resource_id: str, dry_run: bool
) -> None:
    times = [f"2026-02-01T{half_hour // 2:02d}:{half_hour % 2 * 30:02d}:00Z" for half_hour in range(40)]
    first = "at,value\n" + "".join(f"{time},1\n" for time in times[:30])
    assert (await import_text(served.one, resource_id, first)).changes == (30, 0, 0)
    second = "at,value\n" + "".join(f"{time},{1 + n % 2}\n" for n, time in enumerate(times[20:]))
    result = await import_text(served.one, resource_id, second + "2026-02-01T00:10:00Z,1\n", dry_run=dry_run)
    assert (result.recorded, result.changes, list(result.refused)) == (20, (10, 5, 5), [22])
    stored = await stored_values(served, resource_id)
    assert (len(stored), sum(stored.values())) == ((30, 30) if dry_run else (40, 50))


@pytest.mark.parametrize("batch_size", [2, 50_000])
async def test_result_has_the_range_and_the_exact_sum_of_each_series(
    served: House, resource_id: str, monkeypatch: pytest.MonkeyPatch, batch_size: int
) -> None:
    monkeypatch.setattr(bulk_recorder, "BATCH_SIZE", batch_size)
    start = to_ms(datetime(2026, 2, 1, tzinfo=UTC))
    lines = ["01:00:00,0.3,", "00:00:00,0.1,ENERGY", "00:00:01,-250,POWER", "00:10:00,7,", "00:30:00,0.2,"]
    text = "at,value,field\n" + "".join(f"2026-02-01T{line}\n" for line in lines)
    result = await import_text(served.one, resource_id, text)
    assert list(result.refused) == [5]
    expected = [("ENERGY", 3, start, start + 3_600_000, "0.600"), ("POWER", 1, start + 1000, start + 1000, "-250")]
    assert result.series == expected
    monkeypatch.setattr(imported_readings, "MAX_DESCRIBED_SERIES", 1)
    assert (await import_text(served.one, resource_id, text)).series == []


async def test_full_disk_stops_the_import_before_anything_is_stored(
    served: House, resource_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staged_readings, "_SCHEMA", "PRAGMA max_page_count = 10;" + staged_readings._SCHEMA)
    times = [f"2026-02-01T00:{n // 60:02d}:{n % 60:02d}Z" for n in range(3000)]
    text = "at,value,field\n" + "".join(f"{time},{n},POWER\n" for n, time in enumerate(times))
    with pytest.raises(TooLarge, match="cannot be written: database or disk is full"):
        await import_text(served.one, resource_id, text)
    assert await stored_values(served, resource_id, "POWER") == {}


async def test_resource_ids_that_cannot_exist_are_refused_by_line(served: House, resource_id: str) -> None:
    at = "2026-02-01T00:00:00Z"
    ids = [resource_id, "", "x" * 300, "a\x00b"]
    text = "resourceId,at,value\n" + "".join(f"{id_},{at},1\n" for id_ in ids)
    result = await import_text(served.one, None, text)
    assert result.recorded == 1
    assert result.refused == {3: "has no resourceId", 4: "resourceId is too long", 5: "a\x00b does not exist"}


async def test_too_many_lines_of_a_day_with_repeated_times_are_refused(
    served: House, resource_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imported_readings, "MAX_DAY_LINES", 5)
    result = await import_text(served.one, resource_id, clock_change_csv(CLOCK_CHANGE_TIMES), LONDON)
    assert (result.recorded, list(result.refused)) == (2, [3, 4, 5, 6])
    assert "and the day has more than 5 lines of its series." in result.refused[6]
    monkeypatch.setattr(imported_readings, "MAX_DAY_LINES", 6)
    assert (await import_text(served.one, resource_id, clock_change_csv(CLOCK_CHANGE_TIMES), LONDON)).recorded == 6


@pytest.mark.parametrize(
    ("content", "recorded"),
    [
        ("at,value\n", 0),
        ("at,value", 0),
        ("at,value\n\n\n", 0),
        ("at,value\n2026-02-01T00:00:00Z,1", 1),
        ("at,value\r\n2026-02-01T00:00:00Z,1\r\n2026-02-01T00:30:00Z,1", 2),
        ("\ufeffat,value\n2026-02-01T00:00:00Z,1\n\n  ", 1),
    ],
)
async def test_file_may_end_with_or_without_newlines(
    served: House, resource_id: str, content: str, recorded: int
) -> None:
    result = await import_text(served.one, resource_id, content)
    assert (result.recorded, result.refused) == (recorded, {})
    assert result.progress[-1] == len(content.encode())


async def test_empty_file_is_rejected(served: House, resource_id: str) -> None:
    with pytest.raises(Exception, match="the header has no column `value`"):
        await import_text(served.one, resource_id, "")


@pytest.mark.parametrize(
    ("header", "text", "zone"),
    [
        ("at", "0001-01-01T00:00:00+01:00", UTC),
        ("at", "9999-12-31T23:59:59-01:00", UTC),
        ("localTime", "0001-01-01T00:00:00", ZoneInfo("Asia/Kathmandu")),
        ("localTime", "9999-12-31T23:59:59", ZoneInfo("America/St_Johns")),
    ],
)
async def test_time_outside_supported_range_is_rejected(
    served: House, resource_id: str, header: str, text: str, zone: tzinfo
) -> None:
    result = await import_text(
        served.one, resource_id, f"{header},value,field\n{text},1,POWER\n2026-02-01T00:00:00,1,POWER\n", zone
    )
    assert (result.recorded, result.refused) == (1, {2: f"{text} is outside the supported range of times"})


@pytest.mark.long("imports large files to measure memory; imports stay in the short form")
async def test_memory_does_not_grow_with_file_size(databases: Databases) -> None:
    async with databases() as url, tenant_on(url) as tenant:
        arguments = (url, tenant.application_id, await tenant.add_resource(), "1000", "3000", "15000")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.support.weighing", *arguments), cwd=ROOT, stdout=PIPE
        )
        output, _ = await process.communicate()
    _, few, many = json.loads(output)  # the first import also fills caches
    assert many < 1.5 * few
