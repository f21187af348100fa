"""Comparisons: the same elapsed time of the span before, and of the span a year ago."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.support.house import House
from wattgate.energy.baselines import closes, compared
from wattgate.enums import Baseline

LONDON = ZoneInfo("Europe/London")
HALF_HOUR = timedelta(minutes=30)
BEFORE, A_YEAR_AGO = Baseline.PREVIOUS_PERIOD, Baseline.SAME_PERIOD_LAST_YEAR
COMPARE = """
query ($id: ID!, $range: TimeRange!, $period: Period!, $baseline: Baseline!, $function: Function!) {
  resource(resourceId: $id) {
    readings(range: $range, period: $period, timeZone: "Europe/London", function: $function) {
      comparison(baseline: $baseline) {
        baseline change changeRatio
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
        # a month so far; one whose 30th day the month before has not
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
        # across the clock change elapsed time is the wall clock's
        ("2026-10-25", "2026-10-26", "2026-10-25T18:00", BEFORE, ("2026-10-24", "2026-10-24T18:00", "2026-10-25")),
    ],
)
def test_what_a_range_is_compared_with(
    start: str, end: str, until: str, baseline: Baseline, expected: tuple[str, str, str]
) -> None:
    found = compared(wall(start), wall(end), wall(until), baseline, LONDON)
    assert (found.base_start, found.base_until, found.base_end) == tuple(wall(text) for text in expected)
    assert (found.start, found.until) == (wall(start), wall(until))


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
def test_an_open_range_is_the_month_or_the_day_with_which_it_begins(start: str, end: str) -> None:
    assert closes(wall(start), wall("2026-11-21T10:17"), LONDON) == wall(end)


@pytest.fixture
async def resource_id(served: House) -> str:
    """Half hours of 0.1 kWh in October, and of 0.2 kWh until the morning of 20 November 2025; October 2024 is empty."""
    made = await served.one.add_resource()
    start, turn, stop = wall("2025-10-01"), wall("2025-11-01"), wall("2025-11-20T06:00")
    count = (stop.astimezone(UTC) - start.astimezone(UTC)) // HALF_HOUR
    instants = [start.astimezone(UTC) + n * HALF_HOUR for n in range(count)]
    await served.one.record(made, *((at, "0.1" if at < turn else "0.2") for at in instants))
    return made


async def compare(served: House, resource_id: str, **variables: Any) -> Any:
    answer = await served.graphql(
        COMPARE, served.one.headers["account"], **{"id": resource_id, "period": "P1D", "function": "SUM", **variables}
    )
    assert "errors" not in answer, answer
    return answer["data"]["resource"]["readings"]["comparison"]


async def test_a_month_so_far_is_compared_with_the_same_elapsed_time_of_the_month_before(
    served: House, resource_id: str
) -> None:
    november = {"start": "2025-11-01T00:00:00Z", "end": "2025-12-01T00:00:00Z"}
    found = await compare(served, resource_id, range=november, baseline="PREVIOUS_PERIOD")
    samples = 19 * 48 + 12
    assert found["current"] == {
        "start": "2025-11-01T00:00:00.000Z",
        "end": "2025-11-20T06:00:00.000Z",
        "value": round(samples * 0.2, 3),
        "count": samples,
        "completeness": 1.0,
        "quality": "ACTUAL",
    }
    assert found["previous"]["start"] == "2025-09-30T23:00:00.000Z"
    assert found["previous"]["end"] == "2025-10-20T05:00:00.000Z"
    assert found["previous"]["value"] == round(samples * 0.1, 3)
    assert found["change"] == pytest.approx(samples * 0.1)
    assert found["changeRatio"] == pytest.approx(1.0)
    assert len(found["series"]["buckets"]) == 31
    assert found["series"]["end"] == "2025-11-01T00:00:00.000Z"
    mean = await compare(served, resource_id, range=november, baseline="PREVIOUS_PERIOD", function="AVG")
    assert (mean["current"]["value"], mean["previous"]["value"]) == (pytest.approx(0.2), pytest.approx(0.1))


async def test_a_baseline_without_readings_is_not_zero(served: House, resource_id: str) -> None:
    october = {"start": "2025-09-30T23:00:00Z", "end": "2025-11-01T00:00:00Z"}
    found = await compare(served, resource_id, range=october, baseline="SAME_PERIOD_LAST_YEAR")
    assert found["current"]["count"] == 31 * 48 + 2
    assert (found["previous"]["value"], found["previous"]["quality"]) == (None, "MISSING")
    assert (found["change"], found["changeRatio"]) == (None, None)


async def test_a_series_without_a_reading_yet_is_not_compared(served: House) -> None:
    resource_id = await served.one.add_resource()
    today = {"start": "2025-11-01T00:00:00Z", "end": "2025-11-02T00:00:00Z"}
    assert await compare(served, resource_id, range=today, baseline="PREVIOUS_PERIOD") is None


async def test_two_functions_of_one_series_are_compared_side_by_side(served: House, resource_id: str) -> None:
    document = """query ($id: ID!, $range: TimeRange!) { resource(resourceId: $id) {
      sum: readings(range: $range, period: P1D) { comparison(baseline: PREVIOUS_PERIOD) { current { value } } }
      max: readings(range: $range, period: P1D, function: MAX) {
        comparison(baseline: PREVIOUS_PERIOD) { current { value } } } } }"""
    day = {"start": "2025-11-10T00:00:00Z", "end": "2025-11-11T00:00:00Z"}
    answer = await served.graphql(document, served.one.headers["account"], id=resource_id, range=day)
    found = answer["data"]["resource"]
    assert found["sum"]["comparison"]["current"]["value"] == 9.6
    assert found["max"]["comparison"]["current"]["value"] == 0.2
