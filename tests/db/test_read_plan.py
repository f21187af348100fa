"""Which sources the buckets of a series are read from, and how what they hold becomes one, against plain models."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.chance import examples
from wattgate.clock import to_ms
from wattgate.db.readings.aggregates import Aggregates, Span, _put, cover
from wattgate.db.readings.rollups import AMOUNTS, DAYS, HOURS, READINGS, Source
from wattgate.energy.buckets import DAY, Grid, Run, grid
from wattgate.enums import Period, Weekday

LEVELS = [(DAYS, HOURS, READINGS), (DAYS, READINGS), (READINGS,)]
CLOCK_CHANGES = {
    "UTC": [datetime(2024, 2, 29, tzinfo=UTC)],
    "Europe/London": [datetime(2024, 3, 31, 1, tzinfo=UTC), datetime(2025, 10, 26, 1, tzinfo=UTC)],
    "Australia/Lord_Howe": [datetime(2025, 4, 5, 15, tzinfo=UTC), datetime(2024, 10, 5, 15, 30, tzinfo=UTC)],
    "Asia/Kathmandu": [datetime(2024, 12, 31, 18, 15, tzinfo=UTC)],
    "America/St_Johns": [datetime(2025, 3, 9, 5, 30, tzinfo=UTC), datetime(2025, 11, 2, 4, 30, tzinfo=UTC)],
    "Africa/Cairo": [datetime(2023, 4, 27, 22, tzinfo=UTC)],
    "Pacific/Apia": [datetime(2011, 12, 30, 10, tzinfo=UTC)],
}
SPANS = {  # how long around a clock change is looked at, so that there are some, and not too many, buckets
    Period.PT1M: timedelta(minutes=200),
    Period.PT30M: timedelta(days=3),
    Period.PT1H: timedelta(days=5),
    Period.P1D: timedelta(days=40),
    Period.P1W: timedelta(days=100),
    Period.P1M: timedelta(days=500),
    Period.P1Y: timedelta(days=2000),
}


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    """Buckets around a clock change, from and to any second."""
    zone, period = draw(st.sampled_from(sorted(CLOCK_CHANGES))), draw(st.sampled_from(list(Period)))
    middle = draw(st.sampled_from(CLOCK_CHANGES[zone]))
    reach = int(SPANS[period].total_seconds())
    start = middle - timedelta(seconds=draw(st.integers(1, reach)))
    stop = middle + timedelta(seconds=draw(st.integers(0, reach)))
    return grid(start, stop, period, ZoneInfo(zone), draw(st.sampled_from(list(Weekday))))


@st.composite
def spans_of_any_time(draw: st.DrawFn) -> Grid:
    """Up to three buckets from any millisecond to any other, as a comparison has."""
    lengths = draw(st.lists(st.integers(1, 100 * DAY), min_size=1, max_size=3))
    start = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(milliseconds=draw(st.integers(0, 400 * DAY)))
    edges = [to_ms(start)]
    for length in lengths:
        edges.append(edges[-1] + length)
    return Grid(tuple(Run(first, last - first, 1) for first, last in pairwise(edges)))


def pieces(found: dict[str, list[Span]], levels: Sequence[Source]) -> list[tuple[int, int, int, Source]]:
    """What is read for each bucket, one by one: its position, from where to where, and of which source."""
    return [
        (span.position + number, start, start + span.step, source)
        for source in levels
        for span in found.get(source.table, [])
        for number, start in enumerate(range(span.start, span.stop, span.step))
    ]


@settings(max_examples=examples(400))
@given(made=st.one_of(grids(), spans_of_any_time()), levels=st.sampled_from(LEVELS))
def test_every_bucket_is_read_once_from_rows_that_lie_wholly_in_it(made: Grid, levels: tuple[Source, ...]) -> None:
    found = cover(made, levels).spans
    assert set(found) <= {source.table for source in levels}
    for source in levels:
        for span in found.get(source.table, []):
            assert span.start < span.stop
            assert (span.stop - span.start) % span.step == 0
            assert span.start % source.size == span.step % source.size == 0
    of_bucket: dict[int, list[tuple[int, int]]] = {}
    for position, start, stop, _ in pieces(found, levels):
        of_bucket.setdefault(position, []).append((start, stop))
    edges = made.edges
    assert sorted(of_bucket) == list(range(made.count))
    for position, parts in of_bucket.items():
        reached = edges[position]
        for start, stop in sorted(parts):  # one after the other, without a hole and without an overlap
            assert start == reached
            reached = stop
        assert reached == edges[position + 1]


@settings(max_examples=examples(300))
@given(made=st.one_of(grids(), spans_of_any_time()), levels=st.sampled_from(LEVELS[:2]))
def test_no_finer_rows_are_read_where_a_coarser_one_holds_them_all(made: Grid, levels: tuple[Source, ...]) -> None:
    for _, start, stop, source in pieces(cover(made, levels).spans, levels):
        for coarser in levels[: levels.index(source)]:
            first = -(-start // coarser.size) * coarser.size
            assert first + coarser.size > stop


@given(made=grids(), levels=st.sampled_from(LEVELS))
def test_spans_that_follow_each_other_are_one(made: Grid, levels: tuple[Source, ...]) -> None:
    for spans in cover(made, levels).spans.values():
        for one, other in pairwise(spans):
            goes_on = other.position == one.position + (one.stop - one.start) // one.step
            assert not (goes_on and one.stop == other.start and one.step == other.step)


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("UTC", {"reading_day": 1}),
        ("Europe/London", {"reading": 2, "reading_day": 1}),
    ],
)
def test_a_month_is_read_from_days_and_at_its_edges_from_readings(zone: str, expected: dict[str, int]) -> None:
    start = datetime(2025, 7, 1, tzinfo=ZoneInfo(zone))
    made = grid(start, start + timedelta(days=31), Period.P1M, ZoneInfo(zone))
    found = cover(made, (DAYS, READINGS)).spans
    assert {table: len(spans) for table, spans in found.items()} == expected


Reading = tuple[int, int, int, int]
"""Its value, quality, revision and time of receipt."""


def amounts(readings: dict[int, Reading]) -> list[int]:
    """What readings, by instant, amount to, in the order of AMOUNTS."""
    values = [value for value, *_ in readings.values()]
    found = {
        "count": len(values),
        "sum": sum(values),
        "min": min(values),
        "max": max(values),
        "first_at": min(readings),
        "last_at": max(readings),
        "estimated": sum(quality != 0 for _, quality, _, _ in readings.values()),
        "revision": sum(revision for _, _, revision, _ in readings.values()),
        "received_at": max(received for *_, received in readings.values()),
    }
    return [found[name] for name in AMOUNTS]


@settings(max_examples=examples(200))
@given(made=grids(), levels=st.sampled_from(LEVELS), random=st.randoms(use_true_random=False), data=st.data())
def test_parts_in_any_order_and_of_any_source_make_up_what_a_bucket_amounts_to(
    made: Grid, levels: tuple[Source, ...], random: Random, data: st.DataObject
) -> None:
    length = made.stop - made.start
    reading = st.tuples(st.integers(-(10**15), 10**15), st.integers(0, 3), st.integers(0, 9), st.integers(0, 10**13))
    drawn = data.draw(st.dictionaries(st.floats(0, 1, exclude_max=True), reading, max_size=40))
    readings = {made.start + int(place * length): one for place, one in drawn.items()}
    key = (1, 0)
    found = {key: Aggregates.empty(made.count)}
    sources = list(levels)
    random.shuffle(sources)
    for source in sources:
        rows = []
        for position, start, stop, of in pieces(cover(made, levels).spans, levels):
            inside = {at: one for at, one in readings.items() if start <= at < stop}
            if of is source and inside:
                rows.append((position, *amounts(inside)))
        random.shuffle(rows)
        if rows:
            _put(found, key, [list(column) for column in zip(*rows, strict=True)])
    told = found[key]
    edges = made.edges
    for position in range(made.count):
        inside = {at: one for at, one in readings.items() if edges[position] <= at < edges[position + 1]}
        expected = amounts(inside) if inside else [0] * len(AMOUNTS)
        assert [getattr(told, name)[position] for name in AMOUNTS] == expected
    assert sum(told.count) == len(readings)


def test_what_comes_after_every_bucket_was_filled_at_once_is_added() -> None:
    key = (1, 0)
    first = {at: (value, 0, 0, 5) for at, value in ((0, 1), (10, 2), (20, 3))}
    later = {11: (7, 1, 2, 9)}
    found = {key: Aggregates.empty(3)}
    columns = zip(*((at // 10, *amounts({at: one})) for at, one in first.items()), strict=True)
    _put(found, key, [list(column) for column in columns])
    _put(found, key, [[1], *([amount] for amount in amounts(later))])
    whole = {**first, **later}
    for position in range(3):
        inside = {at: one for at, one in whole.items() if at // 10 == position}
        assert [getattr(found[key], name)[position] for name in AMOUNTS] == amounts(inside)
    assert Counter(found[key].count) == {1: 2, 2: 1}
