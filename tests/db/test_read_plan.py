"""Read plans of buckets and the combination of their parts, compared with simple models."""

import struct
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
from wattgate.db.readings.aggregates import (
    Aggregates,
    EncodedSamples,
    ReadSpan,
    decode_column,
    decode_scaled,
    plan_reads,
    store_columns,
)
from wattgate.db.readings.rollups import AGGREGATE_COLUMNS, DAY_SOURCE, HOUR_SOURCE, READING_SOURCE, ReadingSource
from wattgate.energy.buckets import DAY_MS, BucketGrid, BucketRun, build_grid
from wattgate.enums import Period, Weekday

LEVELS = [(DAY_SOURCE, HOUR_SOURCE, READING_SOURCE), (DAY_SOURCE, READING_SOURCE), (READING_SOURCE,)]
CLOCK_CHANGES = {
    "UTC": [datetime(2024, 2, 29, tzinfo=UTC)],
    "Europe/London": [datetime(2024, 3, 31, 1, tzinfo=UTC), datetime(2025, 10, 26, 1, tzinfo=UTC)],
    "Australia/Lord_Howe": [datetime(2025, 4, 5, 15, tzinfo=UTC), datetime(2024, 10, 5, 15, 30, tzinfo=UTC)],
    "Asia/Kathmandu": [datetime(2024, 12, 31, 18, 15, tzinfo=UTC)],
    "America/St_Johns": [datetime(2025, 3, 9, 5, 30, tzinfo=UTC), datetime(2025, 11, 2, 4, 30, tzinfo=UTC)],
    "Africa/Cairo": [datetime(2023, 4, 27, 22, tzinfo=UTC)],
    "Pacific/Apia": [datetime(2011, 12, 30, 10, tzinfo=UTC)],
}
SPANS = {  # the length of time around a clock change, chosen for a moderate number of buckets
    Period.PT1M: timedelta(minutes=200),
    Period.PT5M: timedelta(hours=16),
    Period.PT15M: timedelta(hours=40),
    Period.PT30M: timedelta(days=3),
    Period.PT1H: timedelta(days=5),
    Period.P1D: timedelta(days=40),
    Period.P1W: timedelta(days=100),
    Period.P1M: timedelta(days=500),
    Period.P3M: timedelta(days=900),
    Period.P1Y: timedelta(days=2000),
}


@st.composite
def grids(draw: st.DrawFn) -> BucketGrid:
    """Buckets around a clock change; start and end are at any second."""
    zone, period = draw(st.sampled_from(sorted(CLOCK_CHANGES))), draw(st.sampled_from(list(Period)))
    middle = draw(st.sampled_from(CLOCK_CHANGES[zone]))
    reach = int(SPANS[period].total_seconds())
    start = middle - timedelta(seconds=draw(st.integers(1, reach)))
    stop = middle + timedelta(seconds=draw(st.integers(0, reach)))
    return build_grid(start, stop, period, ZoneInfo(zone), draw(st.sampled_from(list(Weekday))))


@st.composite
def arbitrary_grids(draw: st.DrawFn) -> BucketGrid:
    """Up to three buckets with edges at any millisecond, as in comparisons."""
    lengths = draw(st.lists(st.integers(1, 100 * DAY_MS), min_size=1, max_size=3))
    start = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(milliseconds=draw(st.integers(0, 400 * DAY_MS)))
    edges = [to_ms(start)]
    for length in lengths:
        edges.append(edges[-1] + length)
    return BucketGrid(tuple(BucketRun(first, last - first, 1) for first, last in pairwise(edges)))


def span_parts(
    spans: dict[str, list[ReadSpan]], levels: Sequence[ReadingSource]
) -> list[tuple[int, int, int, ReadingSource]]:
    """Return the parts of each bucket: its position, start, stop and source."""
    return [
        (span.position + number, start, start + span.step, source)
        for source in levels
        for span in spans.get(source.table, [])
        for number, start in enumerate(range(span.start, span.stop, span.step))
    ]


@settings(max_examples=examples(400))
@given(grid=st.one_of(grids(), arbitrary_grids()), levels=st.sampled_from(LEVELS))
def test_read_plan_covers_each_bucket_once_with_rows_inside_it(
    grid: BucketGrid, levels: tuple[ReadingSource, ...]
) -> None:
    spans_by_table = plan_reads(grid, levels).spans
    assert set(spans_by_table) <= {source.table for source in levels}
    for source in levels:
        for span in spans_by_table.get(source.table, []):
            assert span.start < span.stop
            assert (span.stop - span.start) % span.step == 0
            assert span.start % source.interval_ms == span.step % source.interval_ms == 0
    parts_by_bucket: dict[int, list[tuple[int, int]]] = {}
    for position, start, stop, _ in span_parts(spans_by_table, levels):
        parts_by_bucket.setdefault(position, []).append((start, stop))
    edges = grid.edges
    assert sorted(parts_by_bucket) == list(range(grid.count))
    for position, parts in parts_by_bucket.items():
        covered_to = edges[position]
        for start, stop in sorted(parts):  # consecutive, without gaps and overlaps
            assert start == covered_to
            covered_to = stop
        assert covered_to == edges[position + 1]


@settings(max_examples=examples(300))
@given(grid=st.one_of(grids(), arbitrary_grids()), levels=st.sampled_from(LEVELS[:2]))
def test_read_plan_prefers_coarser_rows(grid: BucketGrid, levels: tuple[ReadingSource, ...]) -> None:
    for _, start, stop, source in span_parts(plan_reads(grid, levels).spans, levels):
        for coarser in levels[: levels.index(source)]:
            first = -(-start // coarser.interval_ms) * coarser.interval_ms
            assert first + coarser.interval_ms > stop


@given(grid=grids(), levels=st.sampled_from(LEVELS))
def test_read_plan_merges_contiguous_spans(grid: BucketGrid, levels: tuple[ReadingSource, ...]) -> None:
    for spans in plan_reads(grid, levels).spans.values():
        for span, next_span in pairwise(spans):
            continues = next_span.position == span.position + (span.stop - span.start) // span.step
            assert not (continues and span.stop == next_span.start and span.step == next_span.step)


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("UTC", {"reading_day": 1}),
        ("Europe/London", {"reading": 2, "reading_day": 1}),
    ],
)
def test_read_plan_of_a_month_uses_days_inside_and_readings_at_the_edges(zone: str, expected: dict[str, int]) -> None:
    start = datetime(2025, 7, 1, tzinfo=ZoneInfo(zone))
    grid = build_grid(start, start + timedelta(days=31), Period.P1M, ZoneInfo(zone))
    spans_by_table = plan_reads(grid, (DAY_SOURCE, READING_SOURCE)).spans
    assert {table: len(spans) for table, spans in spans_by_table.items()} == expected


Reading = tuple[int, int, int, int]
"""The value, quality, revision and time of receipt."""


def aggregate_values(readings: dict[int, Reading]) -> list[int]:
    """Return the aggregates of readings by instant, in the order of AGGREGATE_COLUMNS."""
    values = [value for value, *_ in readings.values()]
    aggregates = {
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
    return [aggregates[name] for name in AGGREGATE_COLUMNS]


@settings(max_examples=examples(200))
@given(grid=grids(), levels=st.sampled_from(LEVELS), random=st.randoms(use_true_random=False), data=st.data())
def test_aggregates_do_not_depend_on_the_order_or_source_of_their_parts(
    grid: BucketGrid, levels: tuple[ReadingSource, ...], random: Random, data: st.DataObject
) -> None:
    length = grid.stop - grid.start
    reading = st.tuples(st.integers(-(10**15), 10**15), st.integers(0, 3), st.integers(0, 9), st.integers(0, 10**13))
    drawn = data.draw(st.dictionaries(st.floats(0, 1, exclude_max=True), reading, max_size=40))
    readings = {grid.start + int(share * length): reading_tuple for share, reading_tuple in drawn.items()}
    key = (1, 0)
    aggregates = {key: Aggregates.empty(grid.count)}
    sources = list(levels)
    random.shuffle(sources)
    for source in sources:
        rows = []
        for position, start, stop, piece_source in span_parts(plan_reads(grid, levels).spans, levels):
            inside = {at: reading_tuple for at, reading_tuple in readings.items() if start <= at < stop}
            if piece_source is source and inside:
                rows.append((position, *aggregate_values(inside)))
        random.shuffle(rows)
        if rows:
            store_columns(aggregates, key, [list(column) for column in zip(*rows, strict=True)])
    result = aggregates[key]
    edges = grid.edges
    for position in range(grid.count):
        inside = {
            at: reading_tuple for at, reading_tuple in readings.items() if edges[position] <= at < edges[position + 1]
        }
        expected = aggregate_values(inside) if inside else [0] * len(AGGREGATE_COLUMNS)
        assert [getattr(result, name)[position] for name in AGGREGATE_COLUMNS] == expected
    assert sum(result.count) == len(readings)


def test_store_columns_adds_to_buckets_that_were_filled_at_once() -> None:
    key = (1, 0)
    first = {at: (value, 0, 0, 5) for at, value in ((0, 1), (10, 2), (20, 3))}
    later = {11: (7, 1, 2, 9)}
    aggregates = {key: Aggregates.empty(3)}
    columns = zip(*((at // 10, *aggregate_values({at: reading})) for at, reading in first.items()), strict=True)
    store_columns(aggregates, key, [list(column) for column in columns])
    store_columns(aggregates, key, [[1], *([amount] for amount in aggregate_values(later))])
    all_readings = {**first, **later}
    for position in range(3):
        inside = {at: reading for at, reading in all_readings.items() if at // 10 == position}
        assert [getattr(aggregates[key], name)[position] for name in AGGREGATE_COLUMNS] == aggregate_values(inside)
    assert Counter(aggregates[key].count) == {1: 2, 2: 1}


@pytest.mark.parametrize("numbers", [[7], [7, 7, 7], [0, 0], [-1, -1], [-(2**63), 2**63 - 1], [1, 2, 1], [1, 1, 2]])
def test_columns_of_samples_are_decoded_to_the_stored_numbers(numbers: list[int]) -> None:
    assert decode_column(struct.pack(f">{len(numbers)}q", *numbers)) == numbers


def encoded(*numbers: int) -> bytes:
    return struct.pack(f">{len(numbers)}q", *numbers)


@given(numbers=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-(2**54), 2**54)), decimals=st.integers(0, 18))
def test_scaled_values_are_the_nearest_doubles(numbers: list[int], decimals: int) -> None:
    assert decode_scaled(encoded(*numbers), 10**decimals) == [number / 10**decimals for number in numbers]


def test_encoded_samples_have_the_columns_of_aggregates() -> None:
    samples = EncodedSamples([0, 10, 20], encoded(5, -6, 7), encoded(0, 2, 0), encoded(0, 1, 3), encoded(9, 9, 8))
    readings = {0: (5, 0, 0, 9), 10: (-6, 2, 1, 9), 20: (7, 0, 3, 8)}
    for name, *column in zip(
        AGGREGATE_COLUMNS, *(aggregate_values({at: readings[at]}) for at in readings), strict=True
    ):
        assert getattr(samples, name) == column
    assert samples.scaled_values("sum", 10) == [0.5, -0.6, 0.7]
    assert samples.samples is None


def test_columns_that_were_not_read_cannot_be_read() -> None:
    samples = EncodedSamples([0, 10], encoded(5, 6))
    assert samples.count == [1, 1]
    for name in ("estimated", "revision", "received_at"):
        with pytest.raises(AttributeError, match=name):
            getattr(samples, name)
