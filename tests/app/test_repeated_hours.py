"""CSV import of local times in the night in which the clocks go back, in any order of lines."""

import io
from datetime import tzinfo
from zoneinfo import ZoneInfo

import pytest

from tests.support.house import House
from wattgate.app.cli.imports.readings import import_csv

LONDON = ZoneInfo("Europe/London")
NIGHT = {"23:30": 9, "00:00": 10, "00:30": 11, "01:00": 20, "01:30": 21, "02:00": 30}
"""The values of the night of 26 October 2025 in London by the UTC time. The first is at 00:30 local time."""
LOCAL_TIMES = ["00:30", "01:00", "01:30", "01:00", "01:30", "02:00"]
ASCENDING = list(zip(LOCAL_TIMES, NIGHT.values(), strict=True))
REPEATED = ("01:00", "01:30")


@pytest.fixture
async def resource_id(served: House) -> str:
    return await served.one.add_resource()


async def import_lines(
    house: House, resource_id: str, lines: list[tuple[str, float]], zone: tzinfo = LONDON, header: str = "localTime"
) -> dict[int, str]:
    """Import lines of the night and return the refused ones."""
    text = f"{header},value\n" + "".join(f"2025-10-26T{time}:00,{value}\n" for time, value in lines)
    refused: dict[int, str] = {}
    report = await import_csv(
        io.BytesIO(text.encode()),
        runner=house.gateway.runner,
        principal=house.one.system,
        resource_id=resource_id,
        zone=zone,
        refuse=refused.__setitem__,
        progress=lambda done: None,
    )
    assert (report.lines, report.refused) == (len(lines), len(refused))
    return refused


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
