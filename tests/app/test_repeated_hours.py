"""CSV import of local times in the night in which the clocks go back, in any order of lines."""

import io
import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.chance import examples
from tests.support.house import House
from wattgate.operations.readings.files.file_import import ImportReport, import_csv

LONDON = ZoneInfo("Europe/London")
NIGHT = {"23:30": 9, "00:00": 10, "00:30": 11, "01:00": 20, "01:30": 21, "02:00": 30}
"""The values of the night of 26 October 2025 in London by the UTC time. The first is at 00:30 local time."""
LOCAL_TIMES = ["00:30", "01:00", "01:30", "01:00", "01:30", "02:00"]
ASCENDING = list(zip(LOCAL_TIMES, NIGHT.values(), strict=True))
REPEATED = ("01:00", "01:30")


@pytest.fixture
async def resource_id(served: House) -> str:
    return await served.one.add_resource()


async def import_lines(house: House, resource_id: str, lines: list[tuple[str, float]]) -> dict[int, str]:
    """Import lines of the night and return the refused ones."""
    text = "localTime,value\n" + "".join(f"2025-10-26T{time}:00,{value}\n" for time, value in lines)
    refused: dict[int, str] = {}
    report = await import_text(house, resource_id, text, refused)
    assert (report.lines, report.refused) == (len(lines), len(refused))
    return refused


async def import_text(house: House, resource_id: str, text: str, refused: dict[int, str]) -> ImportReport:
    """Import a file, and add the refused lines to `refused`."""
    return await import_csv(
        io.BytesIO(text.encode()),
        run=house.gateway.runner.run_as(house.one.system),
        resource_id=resource_id,
        zone=LONDON,
        refuse=refused.__setitem__,
        progress=lambda done: None,
    )


async def stored(house: House, resource_id: str) -> dict[str, float]:
    readings = await house.one.run("raw_readings", resource_id=resource_id)
    return {at[11:16]: value for at, value in zip(readings.at, readings.value, strict=True)}


@pytest.mark.parametrize("lines", [ASCENDING, ASCENDING[::-1], ASCENDING[:0:-1]], ids=["oldest", "newest", "finding"])
async def test_ascending_and_descending_lines_are_stored_at_their_instants(
    served: House, resource_id: str, lines: list[tuple[str, float]]
) -> None:
    assert await import_lines(served, resource_id, lines) == {}
    values = {value for _, value in lines}
    assert await stored(served, resource_id) == {at: value for at, value in NIGHT.items() if value in values}


@pytest.mark.parametrize(
    "lines",
    [
        sorted(ASCENDING, key=lambda line: line[0]),
        [ASCENDING[i] for i in (0, 3, 1, 4, 2, 5)],
        [ASCENDING[i] for i in (3, 0, 2, 5, 1, 4)],
        [ASCENDING[i] for i in (1, 3, 0, 5, 2, 4)],
    ],
    ids=["sorted", "newest first, then sorted", "scattered", "scattered otherwise"],
)
async def test_lines_whose_order_decides_nothing_are_refused_with_both_instants(
    served: House, resource_id: str, lines: list[tuple[str, float]]
) -> None:
    refused = await import_lines(served, resource_id, lines)
    assert sorted(refused) == [n for n, (time, _) in enumerate(lines, start=2) if time in REPEATED]
    for number, reason in refused.items():
        time = lines[number - 2][0]
        assert f"2025-10-26T{time}:00+01:00" in reason
        assert f"2025-10-26T{time}:00+00:00" in reason
    assert await stored(served, resource_id) == {"23:30": 9, "02:00": 30}


async def test_times_with_an_offset_do_not_depend_on_the_order(served: House, resource_id: str) -> None:
    instants = [datetime.fromisoformat(f"2025-10-26T{at}:00+00:00") for at in NIGHT]
    instants[0] -= timedelta(days=1)
    lines = [f"{at.astimezone(LONDON).isoformat()},{value}" for at, value in zip(instants, NIGHT.values(), strict=True)]
    text = "at,value\n" + "".join(f"{lines[i]}\n" for i in (3, 0, 2, 5, 1, 4))
    refused: dict[int, str] = {}
    await import_text(served, resource_id, text, refused)
    assert refused == {}
    assert await stored(served, resource_id) == NIGHT


HALF_HOURS = [datetime(2025, 10, 25, 20, tzinfo=UTC) + n * timedelta(minutes=30) for n in range(20)]
"""Half hours around the clock change in London; two days are in the file."""


@given(seed=st.integers(0, 2**32), order=st.sampled_from(["shuffled", "ascending", "descending", "blocks", "sorted"]))
@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_order_stores_the_exact_values_or_refuses_named_lines(served: House, seed: int, order: str) -> None:
    resource_id, chance = await served.one.add_resource(), random.Random(seed)
    rows = list(enumerate(HALF_HOURS, start=1))
    if order == "shuffled":
        chance.shuffle(rows)
    elif order == "descending":
        rows.reverse()
    elif order == "blocks":
        size = chance.randrange(1, 12)
        parts = [rows[n : n + size] for n in range(0, len(rows), size)]
        rows = [row for part in chance.sample(parts, len(parts)) for row in part[:: chance.choice((1, -1))]]
    elif order == "sorted":
        rows = sorted(rows[:: chance.choice((1, -1))], key=lambda row: row[1].astimezone(LONDON).replace(tzinfo=None))
    text = "localTime,value\n" + "".join(
        f"{at.astimezone(LONDON).replace(tzinfo=None).isoformat()},{value}\n" for value, at in rows
    )
    refused: dict[int, str] = {}
    await import_text(served, resource_id, text, refused)
    expected = {f"{at:%H:%M}": value for line, (value, at) in enumerate(rows, start=2) if line not in refused}
    assert await stored(served, resource_id) == expected
    for line, reason in refused.items():
        assert rows[line - 2][1].astimezone(LONDON).isoformat() in reason
    if order in ("ascending", "descending"):
        assert refused == {}
