"""Bucket edges against a slow model that is obviously right, over zones, years and clock changes."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.calendar import label
from tests.support.chance import examples
from wattgate.clock import from_ms
from wattgate.energy.buckets import Grid, at_most, grid, longest
from wattgate.enums import Period, Weekday

ZONES = ["UTC", "Europe/London", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Cairo"]
MINUTES = st.integers(0, 15 * 366 * 24 * 60)
START = datetime(2015, 1, 1, tzinfo=UTC)


def edges(start: datetime, stop: datetime, period: Period, zone: ZoneInfo) -> list[datetime]:
    return [from_ms(edge) for edge in grid(start, stop, period, zone).edges]


@settings(max_examples=examples(150))
@given(
    first=MINUTES,
    length=st.integers(1, 4000),
    period=st.sampled_from(list(Period)),
    zone=st.sampled_from(ZONES),
)
def test_buckets_are_what_the_wall_clock_says(first: int, length: int, period: Period, zone: str) -> None:
    start, stop = START + timedelta(minutes=first), START + timedelta(minutes=first + length)
    found = edges(start, stop, period, ZoneInfo(zone))
    assert found == sorted(set(found))
    assert found[0] <= start < found[1]
    assert found[-2] < stop <= found[-1]
    assert len(found) - 1 <= at_most(start, stop, period)
    # minute by minute: the label changes exactly where a bucket begins
    position, minute = 0, start
    before = label(start, period, ZoneInfo(zone))
    while minute < stop:
        while found[position + 1] <= minute:
            position += 1
        now = label(minute, period, ZoneInfo(zone))
        assert (now != before) == (found[position] == minute and minute != start) or minute == start
        before, minute = now, minute + timedelta(minutes=1)
    assert label(found[0], period, ZoneInfo(zone)) == label(start, period, ZoneInfo(zone))


@pytest.mark.parametrize(
    ("zone", "day", "half_hours"),
    [
        ("Europe/London", datetime(2026, 3, 29), 46),
        ("Europe/London", datetime(2026, 10, 25), 50),
        ("Australia/Lord_Howe", datetime(2026, 4, 5), 49),
        ("Australia/Lord_Howe", datetime(2026, 10, 4), 47),
    ],
)
def test_a_day_of_a_clock_change_has_the_half_hours_that_it_has(zone: str, day: datetime, half_hours: int) -> None:
    start = day.replace(tzinfo=ZoneInfo(zone))
    first, last, *more = edges(start, start + timedelta(hours=1), Period.P1D, ZoneInfo(zone))
    assert not more
    assert len(edges(first, last, Period.PT30M, ZoneInfo(zone))) - 1 == half_hours


def test_an_hour_that_a_clock_change_cuts_is_shorter() -> None:
    zone = ZoneInfo("Australia/Lord_Howe")
    start = datetime(2026, 10, 4, 1, tzinfo=zone)
    found = [
        edge.astimezone(zone).strftime("%H:%M") for edge in edges(start, start + timedelta(hours=2), Period.PT1H, zone)
    ]
    assert found == ["01:00", "02:30", "03:00"]


def test_a_day_without_a_midnight_begins_when_the_clocks_have_changed() -> None:
    zone = ZoneInfo("Africa/Cairo")  # 2023-04-28: from 00:00 to 01:00
    day = edges(datetime(2023, 4, 28, 12, tzinfo=zone), datetime(2023, 4, 28, 13, tzinfo=zone), Period.P1D, zone)
    assert [edge.astimezone(zone).strftime("%d %H:%M") for edge in day] == ["28 01:00", "29 00:00"]


@given(first=MINUTES, length=st.integers(1, 4000), period=st.sampled_from(list(Period)), zone=st.sampled_from(ZONES))
def test_a_grid_is_as_few_runs_as_can_be_and_its_count_is_theirs(
    first: int, length: int, period: Period, zone: str
) -> None:
    start, stop = START + timedelta(minutes=first), START + timedelta(minutes=first + length)
    found: Grid = grid(start, stop, period, ZoneInfo(zone))
    assert found.count == len(found.edges) - 1
    assert (found.edges[0], found.edges[-1]) == (found.start, found.stop)
    for one, following in pairwise(found.runs):
        assert one.stop == following.start
        assert one.step != following.step


@pytest.mark.parametrize("week_start", list(Weekday))
def test_weeks_start_on_the_weekday_that_is_asked(week_start: Weekday) -> None:
    zone = ZoneInfo("Europe/London")
    weeks = grid(datetime(2026, 3, 1, tzinfo=zone), datetime(2026, 5, 1, tzinfo=zone), Period.P1W, zone, week_start)
    starts = [from_ms(edge).astimezone(zone) for edge in weeks.edges]
    assert {(start.weekday(), start.hour, start.minute) for start in starts} == {(week_start.value, 0, 0)}
    assert starts[0] <= datetime(2026, 3, 1, tzinfo=zone) < starts[1]


def test_a_day_that_a_zone_left_out_has_no_bucket() -> None:
    zone = ZoneInfo("Pacific/Apia")  # went over the date line at the end of 2011-12-29
    days = edges(datetime(2011, 12, 29, 12, tzinfo=zone), datetime(2011, 12, 31, 12, tzinfo=zone), Period.P1D, zone)
    assert [edge.astimezone(zone).day for edge in days] == [29, 31, 1]


@given(first=MINUTES, period=st.sampled_from(list(Period)), zone=st.sampled_from(ZONES))
def test_the_longest_span_of_a_count_of_buckets_has_no_more_wherever_it_begins(
    first: int, period: Period, zone: str
) -> None:
    start = START + timedelta(minutes=first)
    stop = start + longest(period, 12)
    assert grid(start, stop, period, ZoneInfo(zone)).count <= at_most(start, stop, period) <= 12
