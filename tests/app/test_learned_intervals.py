"""The interval and the phase of a resource: learned from a file or the first readings, in any zone, never thinned."""

import asyncio
import io
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.support.house import House
from tests.support.timed import RECORD
from wattgate.clock import TimeRange, format_iso, from_ms
from wattgate.enums import Function, Period, Times
from wattgate.errors import BadInput
from wattgate.operations.readings.files.file_import import ImportReport, import_csv
from wattgate.reading_files.profiles import ProfileOptions, packaged_profile, with_options
from wattgate.reading_files.reader import ReadingFile

pytestmark = pytest.mark.both_databases("readings and their sums in SQL")

START = datetime(2026, 3, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
KATHMANDU, CHATHAM, LONDON = ZoneInfo("Asia/Kathmandu"), ZoneInfo("Pacific/Chatham"), ZoneInfo("Europe/London")


def every(minutes: int, count: int, start: datetime = START) -> list[datetime]:
    return [start + number * minutes * MINUTE for number in range(count)]


def file_of(times: Sequence[datetime], value: float = 0.25) -> bytes:
    return ("localTime,value\n" + "".join(f"{one:%Y-%m-%dT%H:%M},{value}\n" for one in times)).encode()


async def import_text(
    house: House, content: bytes, resource_id: str, zone: ZoneInfo = LONDON, **options: Any
) -> tuple[ImportReport, dict[int, str]]:
    file, refused = io.BytesIO(content), dict[int, str]()
    report = await import_csv(
        file,
        run=house.gateway.runner.run_as(house.one.system),
        resource_id=resource_id,
        zone=zone,
        refuse=refused.__setitem__,
        progress=lambda done: None,
        **options,
    )
    return report, refused


async def day(house: House, resource_id: str, start: datetime, *, period: Period = Period.P1D, zone: Any = UTC) -> Any:
    arguments = {"resource_id": resource_id, "range": TimeRange(start, start + timedelta(days=1)), "period": period}
    return await house.one.run("readings", **arguments, function=Function.SUM, time_zone=zone)


async def grid(house: House, resource_id: str) -> tuple[str, str | None, int]:
    """Return the sampling, the interval, and the minutes after the full hour at which samples begin."""
    definition = (await house.one.run("resource", resource_id=resource_id)).storage[0]
    minutes = {None: 60, "PT1H": 60}.get(definition.interval) or int(definition.interval[2:-1])
    return definition.sampling, definition.interval, datetime.fromisoformat(definition.start).minute % minutes


async def send(house: House, resource_id: str, times: Sequence[datetime], value: float = 0.25) -> dict[str, Any]:
    """Record readings in columns over REST."""
    body = {"resourceId": resource_id, "at": [one.isoformat() for one in times], "value": [value] * len(times)}
    response = await house.call("POST", "/readings", house.one.headers["account"], json={"series": [body]})
    return dict(response.json())


@pytest.mark.parametrize(
    ("minutes", "interval"), [(1, "PT1M"), (5, "PT5M"), (10, "PT10M"), (15, "PT15M"), (30, "PT30M"), (60, "PT1H")]
)
async def test_a_file_is_stored_at_its_own_interval(served: House, minutes: int, interval: str) -> None:
    """A day of finer or coarser readings is stored whole, and its completeness counts what its interval expects."""
    resource_id, count = await served.one.add_learning_resource(), 24 * 60 // minutes
    times = [at for at in every(minutes, count) if at.hour != 23]
    report, refused = await import_text(served, file_of(times), resource_id)
    assert (report.recorded, refused) == (len(times), {})
    assert await grid(served, resource_id) == ("regular", interval, 0)
    series = await day(served, resource_id, START)
    assert (series.total, series.quality.value, series.completeness) == (len(times) / 4, "PARTIAL", 23 / 24)
    hours = await day(served, resource_id, START, period=Period.PT1H)
    assert hours.values == [60 / minutes / 4] * 23 + [None]


@pytest.mark.parametrize(
    ("zone", "minutes", "phase"),
    [
        (KATHMANDU, 30, 15),
        (CHATHAM, 30, 15),
        (KATHMANDU, 60, 15),
        (CHATHAM, 15, 0),
        (ZoneInfo("America/St_Johns"), 60, 30),
    ],
)
async def test_local_intervals_of_any_zone_are_imported(
    served: House, zone: ZoneInfo, minutes: int, phase: int
) -> None:
    resource_id, count = await served.one.add_learning_resource(), 24 * 60 // minutes
    times = every(minutes, count, datetime(2026, 3, 2))  # local
    report, refused = await import_text(served, file_of(times), resource_id, zone)
    assert (report.recorded, refused) == (count, {})
    assert await grid(served, resource_id) == ("regular", "PT1H" if minutes == 60 else f"PT{minutes}M", phase)
    series = await day(served, resource_id, datetime(2026, 3, 2, tzinfo=zone), zone=zone)
    assert [series.total, series.count, series.quality.value, series.completeness] == [count / 4, count, "ACTUAL", 1.0]


async def test_a_dry_run_learns_without_storing(served: House) -> None:
    resource_id = await served.one.add_learning_resource()
    report, refused = await import_text(served, file_of(every(5, 288)), resource_id, dry_run=True)
    assert (report.recorded, refused) == (288, {})
    assert await grid(served, resource_id) == ("learned", None, 0)


@pytest.mark.parametrize(
    ("times", "found"),
    [
        ([*every(30, 48), *every(15, 96, START + timedelta(days=1))], "intervals of 30 minutes from 2026-03-01T00:00"),
        ([*every(60, 24), *every(5, 30, START + timedelta(days=1))], "intervals of 1 hour from 2026-03-01T00:00"),
        (every(60, 24), "are 1 hour apart"),
        (every(24 * 60, 5), "are 1 day apart"),
        ([*every(30, 96), *every(60, 24, START + timedelta(days=2))], "intervals of 30 minutes from"),
    ],
)
@pytest.mark.parametrize("is_learning", [False, True])
async def test_other_and_several_intervals_are_refused_whole(
    served: House, times: list[datetime], found: str, is_learning: bool
) -> None:
    one = served.one
    resource_id = await (one.add_learning_resource() if is_learning else one.add_resource())
    if is_learning and found == "are 1 hour apart":
        await import_text(served, file_of(every(30, 48)), resource_id)  # the interval is known
    before = (await day(served, resource_id, START)).count
    with pytest.raises(BadInput, match="Nothing is recorded") as refused:
        await import_text(served, file_of(times), resource_id)
    assert found in str(refused.value)
    assert (await day(served, resource_id, START)).count == before


@pytest.mark.parametrize("is_learning", [False, True])
async def test_an_interval_that_changes_inside_a_file_is_added_to_half_hours_on_request(
    served: House, is_learning: bool
) -> None:
    """A part that is missing after the change makes its half hour unknown. It is not taken for a whole one."""
    one = served.one
    resource_id = await (one.add_learning_resource() if is_learning else one.add_resource())
    later = START + timedelta(days=1)
    quarters = every(15, 96, later)
    del quarters[5]
    report, refused = await import_text(served, file_of([*every(30, 48), *quarters]), resource_id, combine=True)
    assert report.recorded == 48 + 47
    assert [*refused.values()] == ["the interval from 2026-03-02T01:00:00.000Z has 1 of its 2 parts in the file"]
    assert [(await day(served, resource_id, at)).total for at in (START, later)] == [12.0, 23.5]


@pytest.mark.parametrize("minutes", [5, 15])
async def test_finer_readings_for_half_hours_are_refused_whole_over_the_interface(served: House, minutes: int) -> None:
    resource_id = await served.one.add_resource()
    times = every(minutes, 24 * 60 // minutes)
    result = await send(served, resource_id, times)
    assert (result["recorded"], len(result["refused"])) == (0, len(times))
    reasons = {entry["index"]: entry["reason"] for entry in result["refused"]}
    assert reasons[0] == (
        "other readings begin inside its interval, which is 30 minutes: it is of a part, and not of the whole"
    )
    assert reasons[1].endswith("is not on the sampling grid of 0:30:00")
    lines = "".join(f'{{"resourceId":"{resource_id}","at":"{at.isoformat()}","value":1}}\n' for at in times)
    headers = served.one.headers["account"] | {"Content-Type": "application/x-ndjson"}
    streamed = (await served.call("POST", "/readings", headers, content=lines)).json()
    assert (streamed["recorded"], streamed["refused"]) == (0, len(times))
    assert (await day(served, resource_id, START)).count == 0


async def test_single_readings_that_do_not_fit_are_refused_with_the_one_that_they_divide(served: House) -> None:
    resource_id = await served.one.add_resource()
    times = [*every(30, 4), START + 40 * MINUTE]
    result = await send(served, resource_id, times)
    assert (result["recorded"], sorted(entry["index"] for entry in result["refused"])) == (3, [1, 4])


@pytest.mark.parametrize(
    ("minutes", "first", "interval", "phase"),
    [(5, 0, "PT5M", 0), (15, 0, "PT15M", 0), (30, 15, "PT30M", 15), (60, 45, "PT1H", 45)],
)
@pytest.mark.parametrize("size", [1, 3, 24])
async def test_first_readings_over_the_interface_state_the_interval(
    served: House, minutes: int, first: int, interval: str, phase: int, size: int
) -> None:
    """Nothing is lost, whether readings arrive one by one or together, and hours have their sum."""
    resource_id, times = await served.one.add_learning_resource(), every(minutes, 24, START + first * MINUTE)
    for start in range(0, 24, size):
        result = await send(served, resource_id, times[start : start + size])
        assert (result["recorded"], result["refused"]) == (len(times[start : start + size]), [])
    assert await grid(served, resource_id) == ("regular", interval, phase)
    series = await day(served, resource_id, START, period=Period.PT1H)
    assert (series.total, series.count) == (6.0, 24)
    later = await send(served, resource_id, [times[-1] + (minutes + 1) * MINUTE])
    assert later["recorded"] == 0


async def test_first_readings_with_two_intervals_are_refused_whole_over_the_interface(served: House) -> None:
    resource_id = await served.one.add_learning_resource()
    times = [*every(30, 10), *every(15, 10, START + timedelta(hours=5))]
    result = await send(served, resource_id, times)
    assert (result["recorded"], len(result["refused"])) == (0, 20)
    assert result["refused"][0]["reason"].startswith(
        "the readings have intervals of 30 minutes from 2026-03-01T00:00:00.000Z and 15 minutes from 2026-03-01T05:00"
    )


async def test_costs_have_the_interval_of_their_energy(served: House) -> None:
    """Costs that exist before the first readings, and those that are added after them."""
    resource_id = await served.one.add_learning_resource()
    kind = "electricity.consumption.cost"
    before = await served.one.add_learning_resource(kind, cost_of=resource_id)
    await served.one.set_tariff(resource_id)
    await send(served, resource_id, every(15, 96), 1)
    after = await served.one.add_learning_resource(kind, cost_of=resource_id)
    for cost in (before, after):
        assert await grid(served, cost) == ("regular", "PT15M", 0)
        series = await day(served, cost, START)
        assert (series.count, series.quality.value, series.completeness) == (96, "ACTUAL", 1.0)
        assert series.total == pytest.approx(96 * 24.5)


async def test_ends_of_learned_intervals_need_an_option_and_are_shifted(served: House) -> None:
    """The profile states it, or an option. Without both, the import refuses the file before anything is stored."""
    lines = "Date,kWh\n" + "".join(f"{at:%d/%m/%Y %H:%M},0.25\n" for at in every(15, 96, START + 15 * MINUTE))
    resource_id = await served.one.add_learning_resource()
    profile = packaged_profile("english-spreadsheet")

    async def read(**options: Any) -> ImportReport:
        file = io.BytesIO(lines.encode())
        source = ReadingFile(file, with_options(profile, ProfileOptions(**options)), LONDON)
        return (await import_text(served, lines.encode(), resource_id, source=source))[0]

    with pytest.raises(BadInput, match="start or the end"):
        await read()
    report = await read(times=Times.END, interval="PT15M")
    assert (report.recorded, from_ms(report.series[0].summary.first or 0)) == (96, START)
    assert (await day(served, resource_id, START)).completeness == 1.0


async def test_calls_at_once_that_learn_the_same_interval_are_all_recorded(served: House) -> None:
    resource_id = await served.one.add_learning_resource()
    times = [every(30, 6, START + number * 3 * 60 * MINUTE) for number in range(4)]
    series = [
        [{"resourceId": resource_id, "readings": [{"at": format_iso(at), "value": 0.5} for at in part]}]
        for part in times
    ]
    headers = served.one.headers["account"]
    answers = await asyncio.gather(*(served.graphql(RECORD, headers, series=each) for each in series))
    assert [answer.get("errors") for answer in answers] == [None] * 4
    assert (await grid(served, resource_id))[1] == "PT30M"
