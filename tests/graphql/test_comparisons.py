"""Comparisons of a series with the same elapsed time of the previous period and of the year before."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.support.house import House
from wattgate.energy.baselines import comparison_range, open_range_end
from wattgate.enums import Baseline

pytestmark = pytest.mark.both_databases("readings and their sums in SQL")

LONDON = ZoneInfo("Europe/London")
HALF_HOUR = timedelta(minutes=30)
BEFORE, A_YEAR_AGO = Baseline.PREVIOUS_PERIOD, Baseline.SAME_PERIOD_LAST_YEAR
COMPARE = """
query ($id: ID!, $range: TimeRange!, $period: Period!, $baseline: Baseline!, $function: Function!) {
  resource(resourceId: $id) {
    readings(range: $range, period: $period, timeZone: "Europe/London", function: $function) {
      comparison(baseline: $baseline) {
        baseline baselineIsShorter change changeRatio
        current { start end value count completeness quality }
        previous { start end value count completeness quality }
        series { start end buckets { start value } }
      }
    }
  }
}
"""


def wall(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=LONDON)


@pytest.mark.parametrize(
    ("start", "end", "until", "baseline", "expected"),
    [
        # a whole day, a day so far
        ("2026-11-20", "2026-11-21", "2026-11-21", BEFORE, ("2026-11-19", "2026-11-20", "2026-11-20")),
        ("2026-11-20", "2026-11-21", "2026-11-20T10:30", BEFORE, ("2026-11-19", "2026-11-19T10:30", "2026-11-20")),
        # a month so far; the previous month has no 30th day
        ("2026-11-01", "2026-12-01", "2026-11-20T06:00", BEFORE, ("2026-10-01", "2026-10-20T06:00", "2026-11-01")),
        ("2026-03-01", "2026-04-01", "2026-03-30T06:00", BEFORE, ("2026-02-01", "2026-03-01", "2026-03-01")),
        # a quarter, a year
        ("2026-04-01", "2026-07-01", "2026-07-01", BEFORE, ("2026-01-01", "2026-04-01", "2026-04-01")),
        ("2026-01-01", "2027-01-01", "2026-03-01", BEFORE, ("2025-01-01", "2025-03-01", "2026-01-01")),
        # 24 hours at any time
        (
            *("2026-11-20T09:17", "2026-11-21T09:17", "2026-11-21T09:17", BEFORE),
            ("2026-11-19T09:17", "2026-11-20T09:17", "2026-11-20T09:17"),
        ),
        # a year ago: months by the calendar, weeks by their weekdays, days by the date
        ("2026-11-01", "2026-12-01", "2026-11-20T06:00", A_YEAR_AGO, ("2025-11-01", "2025-11-20T06:00", "2025-12-01")),
        ("2026-11-16", "2026-11-23", "2026-11-20", A_YEAR_AGO, ("2025-11-17", "2025-11-21", "2025-11-24")),
        ("2024-02-29", "2024-03-01", "2024-03-01", A_YEAR_AGO, ("2023-02-28", "2023-03-01", "2023-03-01")),
        # at a clock change, elapsed time is wall-clock time
        ("2026-10-25", "2026-10-26", "2026-10-25T18:00", BEFORE, ("2026-10-24", "2026-10-24T18:00", "2026-10-25")),
    ],
)
def test_comparison_range_of_each_baseline(
    start: str, end: str, until: str, baseline: Baseline, expected: tuple[str, str, str]
) -> None:
    comparison = comparison_range(wall(start), wall(end), wall(until), baseline, LONDON)
    assert (comparison.base_start, comparison.base_until, comparison.base_end) == tuple(wall(text) for text in expected)
    assert (comparison.start, comparison.until) == (wall(start), wall(until))


@pytest.mark.parametrize(
    ("zone", "start", "until", "expected"),
    [
        # the day begins at 01:00, because the clocks skip its midnight
        ("America/Santiago", "2026-09-06T01:00", "2026-09-06T20:22", ("2026-09-05T00:00", "2026-09-05T20:22")),
        ("Asia/Beirut", "2026-03-29T01:00", "2026-03-29T09:10", ("2026-03-28T00:00", "2026-03-28T09:10")),
        ("America/Asuncion", "2023-10-01T01:00", "2023-10-01T13:05", ("2023-09-01T00:00", "2023-09-01T13:05")),
        # the day before begins at 01:00
        ("America/Santiago", "2026-09-07T00:00", "2026-09-07T05:30", ("2026-09-06T01:00", "2026-09-06T05:30")),
        ("Asia/Kathmandu", "2026-11-20T00:00", "2026-11-20T05:30", ("2026-11-19T00:00", "2026-11-19T05:30")),
    ],
)
def test_comparison_of_a_day_so_far_has_the_same_wall_clock_time(
    zone: str, start: str, until: str, expected: tuple[str, str]
) -> None:
    """The first day of a month is compared as a day of the month so far, as in `open_range_end`."""
    tz = ZoneInfo(zone)
    begin, reached, base, base_until = (
        datetime.fromisoformat(each).replace(tzinfo=tz) for each in (start, until, *expected)
    )
    end = open_range_end(begin, reached, tz)
    found = comparison_range(begin, end, reached, BEFORE, tz)
    assert (found.base_start, found.base_until, found.is_shorter) == (base, base_until, False)


@pytest.mark.parametrize(
    ("start", "end", "until", "is_shorter"),
    [
        ("2026-03-01", "2026-04-01", "2026-03-28T23:30", False),
        ("2026-03-01", "2026-04-01", "2026-03-29T00:00", False),
        ("2026-03-01", "2026-04-01", "2026-03-29T10:00", True),  # February has no 29th day
        ("2026-03-01", "2026-04-01", "2026-04-01", True),
        ("2024-03-01", "2024-04-01", "2024-03-29T10:00", False),
        ("2026-07-01", "2026-08-01", "2026-07-31T10:00", True),  # June has no 31st day
        ("2026-05-01", "2026-06-01", "2026-05-31T00:30", True),
        ("2026-12-01", "2027-01-01", "2026-12-30T10:00", False),
        ("2026-03-29", "2026-03-30", "2026-03-29T22:00", False),  # 23 hours, compared by the wall clock
    ],
)
def test_comparison_says_when_the_baseline_has_less_time(start: str, end: str, until: str, is_shorter: bool) -> None:
    assert comparison_range(wall(start), wall(end), wall(until), BEFORE, LONDON).is_shorter is is_shorter


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-11-01", "2026-12-01"),  # the month so far
        ("2026-10-01", "2026-12-01"),
        ("2026-01-01", "2026-12-01"),
        ("2026-11-21", "2026-11-22"),  # the day
        ("2026-11-16", "2026-11-22"),  # six days
        ("2026-11-21T09:30", "2026-11-21T10:17"),
    ],
)
def test_open_range_ends_with_its_first_month_or_day(start: str, end: str) -> None:
    assert open_range_end(wall(start), wall("2026-11-21T10:17"), LONDON) == wall(end)


@pytest.fixture
async def resource_id(served: House) -> str:
    """A resource with half hours of 0.1 kWh in October 2025, and of 0.2 kWh until 06:00 on 20 November 2025."""
    resource_id = await served.one.add_resource()
    start, turn, end = wall("2025-10-01"), wall("2025-11-01"), wall("2025-11-20T06:00")
    count = (end.astimezone(UTC) - start.astimezone(UTC)) // HALF_HOUR
    instants = [start.astimezone(UTC) + n * HALF_HOUR for n in range(count)]
    await served.one.record(resource_id, *((at, "0.1" if at < turn else "0.2") for at in instants))
    return resource_id


async def compare(served: House, resource_id: str, **variables: Any) -> Any:
    answer = await served.graphql(
        COMPARE, served.one.headers["account"], **{"id": resource_id, "period": "P1D", "function": "SUM", **variables}
    )
    assert "errors" not in answer, answer
    return answer["data"]["resource"]["readings"]["comparison"]


async def test_month_so_far_is_compared_with_the_same_part_of_the_previous_month(
    served: House, resource_id: str
) -> None:
    november = {"start": "2025-11-01T00:00:00Z", "end": "2025-12-01T00:00:00Z"}
    comparison = await compare(served, resource_id, range=november, baseline="PREVIOUS_PERIOD")
    samples = 19 * 48 + 12
    assert comparison["current"] == {
        "start": "2025-11-01T00:00:00.000Z",
        "end": "2025-11-20T06:00:00.000Z",
        "value": round(samples * 0.2, 3),
        "count": samples,
        "completeness": 1.0,
        "quality": "ACTUAL",
    }
    assert comparison["previous"]["start"] == "2025-09-30T23:00:00.000Z"
    assert comparison["previous"]["end"] == "2025-10-20T05:00:00.000Z"
    assert comparison["previous"]["value"] == round(samples * 0.1, 3)
    assert comparison["change"] == pytest.approx(samples * 0.1)
    assert comparison["changeRatio"] == pytest.approx(1.0)
    assert len(comparison["series"]["buckets"]) == 31
    assert comparison["series"]["end"] == "2025-11-01T00:00:00.000Z"
    mean = await compare(served, resource_id, range=november, baseline="PREVIOUS_PERIOD", function="AVG")
    assert (mean["current"]["value"], mean["previous"]["value"]) == (pytest.approx(0.2), pytest.approx(0.1))


async def test_baseline_without_readings_is_null_not_zero(served: House, resource_id: str) -> None:
    october = {"start": "2025-09-30T23:00:00Z", "end": "2025-11-01T00:00:00Z"}
    comparison = await compare(served, resource_id, range=october, baseline="SAME_PERIOD_LAST_YEAR")
    assert comparison["current"]["count"] == 31 * 48 + 2
    assert (comparison["previous"]["value"], comparison["previous"]["quality"]) == (None, "MISSING")
    assert (comparison["change"], comparison["changeRatio"]) == (None, None)


async def test_series_without_readings_has_no_comparison(served: House) -> None:
    resource_id = await served.one.add_resource()
    today = {"start": "2025-11-01T00:00:00Z", "end": "2025-11-02T00:00:00Z"}
    assert await compare(served, resource_id, range=today, baseline="PREVIOUS_PERIOD") is None


async def test_one_query_compares_two_functions_of_a_series(served: House, resource_id: str) -> None:
    document = """query ($id: ID!, $range: TimeRange!) { resource(resourceId: $id) {
      sum: readings(range: $range, period: P1D) { comparison(baseline: PREVIOUS_PERIOD) { current { value } } }
      max: readings(range: $range, period: P1D, function: MAX) {
        comparison(baseline: PREVIOUS_PERIOD) { current { value } } } } }"""
    day = {"start": "2025-11-10T00:00:00Z", "end": "2025-11-11T00:00:00Z"}
    answer = await served.graphql(document, served.one.headers["account"], id=resource_id, range=day)
    resource = answer["data"]["resource"]
    assert resource["sum"]["comparison"]["current"]["value"] == 9.6
    assert resource["max"]["comparison"]["current"]["value"] == 0.2
