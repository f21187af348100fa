"""CSV files of readings, line by line: hours that come twice, qualities, digits, files that end anyhow, memory."""

import asyncio
import io
import json
import sys
from asyncio.subprocess import PIPE
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.support.house import House, Tenant, tenant_on
from tests.support.servers import Databases
from wattgate.app.cli.imports.readings import import_csv
from wattgate.graphql.transport import bulk

ROOT = Path(__file__).parents[2]
LONDON = ZoneInfo("Europe/London")
TWICE = "the same instant is given twice with different values"


@dataclass
class Told:
    """What an import has told."""

    lines: int = 0
    recorded: int = 0
    refused: dict[int, str] = field(default_factory=dict)
    progress: list[int] = field(default_factory=list)


async def load(
    tenant: Tenant,
    resource_id: str,
    content: str | bytes,
    zone: tzinfo = UTC,
) -> Told:
    told = Told()
    report = await import_csv(
        io.BytesIO(content.encode() if isinstance(content, str) else content),
        runner=tenant.gateway.runner,
        principal=tenant.system,
        resource_id=resource_id,
        zone=zone,
        refuse=told.refused.__setitem__,
        progress=told.progress.append,
    )
    assert report.refused == len(told.refused)
    told.lines, told.recorded = report.lines, report.recorded
    return told


async def stored(house: House, resource_id: str, name: str = "ENERGY") -> dict[str, float]:
    found = await house.one.run("raw_readings", resource_id=resource_id, field=name)
    return {at[11:16]: value for at, value in zip(found.at, found.value, strict=True)}


@pytest.fixture
async def resource_id(served: House) -> str:
    return await served.one.add_resource()


AUTUMN = ["00:30", "01:00", "01:30", "01:00", "01:30", "02:00"]
"""The night of 26 October 2025 in London, by the clock on the wall."""


def night(times: list[str], first: int = 1) -> str:
    return "localTime,value\n" + "".join(f"2025-10-26T{one}:00,{n}\n" for n, one in enumerate(times, start=first))


async def test_an_hour_that_the_clocks_pass_twice_is_taken_twice(served: House, resource_id: str) -> None:
    told = await load(served.one, resource_id, night(AUTUMN), LONDON)
    assert (told.recorded, told.refused) == (6, {})
    assert await stored(served, resource_id) == {
        "23:30": 1,
        "00:00": 2,
        "00:30": 3,
        "01:00": 4,
        "01:30": 5,
        "02:00": 6,
    }


async def test_an_hour_that_is_given_a_third_time_is_refused_by_line_and_the_rest_recorded(
    served: House, resource_id: str
) -> None:
    told = await load(served.one, resource_id, night([*AUTUMN[:5], "01:00", "01:30", "02:00"]), LONDON)
    assert (told.recorded, told.refused) == (6, {7: TWICE, 8: TWICE})
    assert list((await stored(served, resource_id)).values()) == [1, 2, 3, 4, 5, 8]


async def test_two_fields_side_by_side_pass_the_hour_twice_each_by_itself(served: House, resource_id: str) -> None:
    lines = [f"2025-10-26T{time}:00,{n},{name}" for n, time in enumerate(AUTUMN) for name in ("ENERGY", "POWER")]
    told = await load(served.one, resource_id, "\n".join(["localTime,value,field", *lines]), LONDON)
    assert (told.recorded, told.refused) == (12, {})
    expected = {"23:30": 0, "00:00": 1, "00:30": 2, "01:00": 3, "01:30": 4, "02:00": 5}
    assert await stored(served, resource_id) == await stored(served, resource_id, "POWER") == expected


async def test_a_column_of_qualities_in_any_case_and_empty_where_they_are_actual(
    served: House, resource_id: str
) -> None:
    names = ["ACTUAL", "estimated", "", " Substituted ", "QUESTIONABLE", "GUESSED"]
    lines = [f"2026-02-01T00:{30 * (n % 2):02d}:00+0{9 - n // 2}:00,{name},1" for n, name in enumerate(names)]
    told = await load(served.one, resource_id, "\n".join(["at,Quality,VALUE", *lines]))
    assert told.refused == {7: "'GUESSED' is not a quality; ACTUAL, ESTIMATED, SUBSTITUTED, QUESTIONABLE are"}
    found = await served.one.run("raw_readings", resource_id=resource_id)
    kept = ["ACTUAL", "ESTIMATED", "ACTUAL", "SUBSTITUTED", "QUESTIONABLE"]
    assert [getattr(one, "name", one) for one in found.quality] == kept


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("0.1234", "0.1234 has more than the 3 decimal places of ENERGY"),
        ("0.12345678901234567", "0.12345678901234567 has more digits than can be kept"),
        ("1000000000000.000", "1000000000000 is too large for ENERGY"),
        ("nan", "NaN is not a number"),
        ("-inf", "-Infinity is not a number"),
        ("", "'' is not a number"),
        ("1,5", None),
        ("1_000", "'1_000' is not a number"),
        ("0x10", "'0x10' is not a number"),
        ("1" * 400, "Infinity is not a number"),
    ],
)
async def test_a_value_that_cannot_be_kept_as_it_is_written_is_refused(
    served: House, resource_id: str, value: str, reason: str | None
) -> None:
    told = await load(
        served.one, resource_id, f"at;value\n2026-02-01T00:00:00Z;{value}\n2026-02-01T00:30:00Z;0.250000000000000000000"
    )
    assert list(told.refused) == [2]
    assert told.refused[2].startswith(reason or "'1,5' is not a number")
    assert await stored(served, resource_id) == {"00:30": 0.25}


async def test_of_one_stamp_with_different_values_in_a_file_the_first_is_kept(served: House, resource_id: str) -> None:
    at = "2026-02-01T00:00:00Z"
    told = await load(served.one, resource_id, f"at,value\n{at},1\n{at},2\n2026-02-01T01:00:00+01:00,1.000\n{at},3\n")
    assert (told.lines, told.recorded, told.refused) == (4, 1, {3: TWICE, 5: TWICE})
    assert await stored(served, resource_id) == {"00:00": 1}


async def test_of_one_stamp_in_different_batches_of_a_file_the_later_value_replaces_the_first(
    served: House, resource_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "BATCH", 2)
    lines = ["2026-02-01T00:00:00Z,1", "2026-02-01T00:30:00Z,1", "2026-02-01T00:00:00Z,2"]
    told = await load(served.one, resource_id, "\n".join(["at,value", *lines]))
    assert (told.recorded, told.refused) == (3, {})
    assert await stored(served, resource_id) == {"00:00": 2, "00:30": 1}


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
async def test_a_file_may_end_anyhow(served: House, resource_id: str, content: str, recorded: int) -> None:
    told = await load(served.one, resource_id, content)
    assert (told.recorded, told.refused) == (recorded, {})
    assert told.progress[-1] == len(content.encode())


async def test_an_empty_file_has_no_header(served: House, resource_id: str) -> None:
    with pytest.raises(Exception, match="the header has no column `value`"):
        await load(served.one, resource_id, "")


@pytest.mark.parametrize(
    ("header", "text", "zone"),
    [
        ("at", "0001-01-01T00:00:00+01:00", UTC),
        ("at", "9999-12-31T23:59:59-01:00", UTC),
        ("localTime", "0001-01-01T00:00:00", ZoneInfo("Asia/Kathmandu")),
        ("localTime", "9999-12-31T23:59:59", ZoneInfo("America/St_Johns")),
    ],
)
async def test_a_time_beyond_every_calendar_is_refused_by_line(
    served: House, resource_id: str, header: str, text: str, zone: tzinfo
) -> None:
    told = await load(
        served.one, resource_id, f"{header},value,field\n{text},1,POWER\n2026-02-01T00:00:00,1,POWER\n", zone
    )
    assert (told.recorded, told.refused) == (1, {2: f"{text} is beyond every calendar"})


async def test_memory_does_not_grow_with_the_file(databases: Databases) -> None:
    async with databases() as url, tenant_on(url) as tenant:
        words = (url, tenant.application_id, await tenant.add_resource(), "1000", "3000", "15000")
        weighing = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.support.weighing", *words), cwd=ROOT, stdout=PIPE
        )
        told, _ = await weighing.communicate()
    _, few, many = json.loads(told)  # the first one has made what is made once and kept
    assert many < 1.5 * few
