"""Bucket edges, compared with a simple slow model over zones, years and clock changes."""

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import combinations, pairwise
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.calendar import label
from tests.support.chance import examples
from wattgate.clock import from_ms
from wattgate.energy.buckets import BucketGrid, build_grid, max_bucket_count, max_range
from wattgate.enums import Period, Weekday

ZONES = ["UTC", "Europe/London", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Cairo"]
MINUTES = st.integers(0, 15 * 366 * 24 * 60)
START = datetime(2015, 1, 1, tzinfo=UTC)


def edges(start: datetime, stop: datetime, period: Period, zone: ZoneInfo) -> list[datetime]:
    return [from_ms(edge) for edge in build_grid(start, stop, period, zone).edges]


@settings(max_examples=examples(150))
@given(
    first=MINUTES,
    length=st.integers(1, 4000),
    period=st.sampled_from(list(Period)),
    zone=st.sampled_from(ZONES),
)
def test_buckets_match_the_wall_clock(first: int, length: int, period: Period, zone: str) -> None:
    start, stop = START + timedelta(minutes=first), START + timedelta(minutes=first + length)
    bucket_edges = edges(start, stop, period, ZoneInfo(zone))
    assert bucket_edges == sorted(set(bucket_edges))
    assert bucket_edges[0] <= start < bucket_edges[1]
    assert bucket_edges[-2] < stop <= bucket_edges[-1]
    assert len(bucket_edges) - 1 <= max_bucket_count(start, stop, period)
    # minute by minute: the label changes exactly where a bucket begins
    position, minute = 0, start
    previous_label = label(start, period, ZoneInfo(zone))
    while minute < stop:
        while bucket_edges[position + 1] <= minute:
            position += 1
        current_label = label(minute, period, ZoneInfo(zone))
        assert (current_label != previous_label) == (
            bucket_edges[position] == minute and minute != start
        ) or minute == start
        previous_label, minute = current_label, minute + timedelta(minutes=1)
    assert label(bucket_edges[0], period, ZoneInfo(zone)) == label(start, period, ZoneInfo(zone))


MILLISECOND = timedelta(milliseconds=1)
LENGTHS = {
    Period.PT1M: timedelta(minutes=1),
    Period.PT5M: timedelta(minutes=5),
    Period.PT15M: timedelta(minutes=15),
    Period.PT30M: timedelta(minutes=30),
    Period.PT1H: timedelta(hours=1),
}
"""The length of a bucket. Longer periods have one that differs: a day is used, so that ranges end inside a bucket."""


@cache
def clock_changes() -> list[tuple[ZoneInfo, datetime]]:
    """Return a clock change of each kind, with its zone, among all zones of the database from 2015 to 2035.

    Two changes are of one kind if they have the same offsets, wall-clock time, month and weekday.
    """
    kinds: dict[object, tuple[ZoneInfo, datetime]] = {}
    weeks = [START + timedelta(weeks=week) for week in range(21 * 53)]
    zones = {
        tuple(week.astimezone(zone).utcoffset() for week in weeks): zone
        for zone in map(ZoneInfo, sorted(available_timezones()))
    }
    for offsets, zone in zones.items():
        for week, (before, after) in zip(weeks, pairwise(offsets), strict=False):
            if before != after:
                change = _change_between(week, week + timedelta(weeks=1), zone)
                local = change.astimezone(zone)
                kinds.setdefault((before, after, local.time(), local.month, local.weekday()), (zone, change))
    return list(kinds.values())


def _change_between(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """Return the first whole second that has the offset of `after`."""
    offset = before.astimezone(zone).utcoffset()
    while after - before > timedelta(seconds=1):
        middle = before + (after - before) // 2
        middle = middle.replace(microsecond=0)
        before, after = (middle, after) if middle.astimezone(zone).utcoffset() == offset else (before, middle)
    return after


@pytest.mark.parametrize("period", list(Period))
def test_ranges_around_each_clock_change_have_whole_buckets(period: Period) -> None:
    length = LENGTHS.get(period, timedelta(days=1))
    steps = [step * length / 2 for step in range(-4, 5)]
    faults, label_of = [], cache(label)  # the ranges around a change have most edges in common
    for zone, change in clock_changes():
        for begin, end in combinations(steps, 2):
            start, stop = change + begin, change + end
            try:
                bucket_edges = edges(start, stop, period, zone)
                assert bucket_edges[0] <= start < bucket_edges[1]
                assert bucket_edges[-2] < stop <= bucket_edges[-1]
                for edge, following in pairwise(bucket_edges):
                    assert label_of(edge, period, zone) == label_of(following - MILLISECOND, period, zone)
                    assert label_of(edge, period, zone) != label_of(following, period, zone)
            except (AssertionError, ZeroDivisionError) as fault:
                faults.append(f"{zone} {start} to {stop}: {fault!r}")
    assert faults == []


@pytest.mark.parametrize(
    ("zone", "day", "half_hours"),
    [
        ("Europe/London", datetime(2026, 3, 29), 46),
        ("Europe/London", datetime(2026, 10, 25), 50),
        ("Australia/Lord_Howe", datetime(2026, 4, 5), 49),
        ("Australia/Lord_Howe", datetime(2026, 10, 4), 47),
    ],
)
def test_day_of_a_clock_change_has_more_or_fewer_half_hours(zone: str, day: datetime, half_hours: int) -> None:
    start = day.replace(tzinfo=ZoneInfo(zone))
    first, last, *more = edges(start, start + timedelta(hours=1), Period.P1D, ZoneInfo(zone))
    assert not more
    assert len(edges(first, last, Period.PT30M, ZoneInfo(zone))) - 1 == half_hours


def test_hour_with_a_clock_change_is_shorter() -> None:
    zone = ZoneInfo("Australia/Lord_Howe")
    start = datetime(2026, 10, 4, 1, tzinfo=zone)
    times = [
        edge.astimezone(zone).strftime("%H:%M") for edge in edges(start, start + timedelta(hours=2), Period.PT1H, zone)
    ]
    assert times == ["01:00", "02:30", "03:00"]


def test_day_without_midnight_begins_at_the_clock_change() -> None:
    zone = ZoneInfo("Africa/Cairo")  # 2023-04-28: clocks change from 00:00 to 01:00
    day = edges(datetime(2023, 4, 28, 12, tzinfo=zone), datetime(2023, 4, 28, 13, tzinfo=zone), Period.P1D, zone)
    assert [edge.astimezone(zone).strftime("%d %H:%M") for edge in day] == ["28 01:00", "29 00:00"]


@given(first=MINUTES, length=st.integers(1, 4000), period=st.sampled_from(list(Period)), zone=st.sampled_from(ZONES))
def test_grid_has_the_fewest_runs_and_their_total_count(first: int, length: int, period: Period, zone: str) -> None:
    start, stop = START + timedelta(minutes=first), START + timedelta(minutes=first + length)
    grid: BucketGrid = build_grid(start, stop, period, ZoneInfo(zone))
    assert grid.count == len(grid.edges) - 1
    assert (grid.edges[0], grid.edges[-1]) == (grid.start, grid.stop)
    for run, following in pairwise(grid.runs):
        assert run.stop == following.start
        assert run.step != following.step


@pytest.mark.parametrize("week_start", list(Weekday))
def test_weeks_start_on_the_requested_weekday(week_start: Weekday) -> None:
    zone = ZoneInfo("Europe/London")
    weeks = build_grid(
        datetime(2026, 3, 1, tzinfo=zone), datetime(2026, 5, 1, tzinfo=zone), Period.P1W, zone, week_start
    )
    starts = [from_ms(edge).astimezone(zone) for edge in weeks.edges]
    assert {(start.weekday(), start.hour, start.minute) for start in starts} == {(week_start.value, 0, 0)}
    assert starts[0] <= datetime(2026, 3, 1, tzinfo=zone) < starts[1]


def test_day_skipped_by_a_zone_has_no_bucket() -> None:
    zone = ZoneInfo("Pacific/Apia")  # crossed the date line at the end of 2011-12-29
    days = edges(datetime(2011, 12, 29, 12, tzinfo=zone), datetime(2011, 12, 31, 12, tzinfo=zone), Period.P1D, zone)
    assert [edge.astimezone(zone).day for edge in days] == [29, 31, 1]


@given(first=MINUTES, period=st.sampled_from(list(Period)), zone=st.sampled_from(ZONES))
def test_max_range_never_exceeds_the_count_of_buckets(first: int, period: Period, zone: str) -> None:
    start = START + timedelta(minutes=first)
    stop = start + max_range(period, 12)
    assert build_grid(start, stop, period, ZoneInfo(zone)).count <= max_bucket_count(start, stop, period) <= 12
