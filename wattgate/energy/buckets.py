"""Edges of the buckets of a series in any time zone, with clock changes, and checks of its range. No I/O.

Instants and durations are in milliseconds. Instants count from 1970, UTC.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cached_property, lru_cache
from itertools import pairwise
from types import MappingProxyType

from wattgate.clock import TimeRange, Timestamp, format_iso_ms, from_ms, to_ms
from wattgate.enums import Period, Weekday
from wattgate.errors import BadInput, Problem

MINUTE_MS = 60 * 1000
HALF_HOUR_MS = 30 * MINUTE_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

FIXED_LENGTHS_MS: Mapping[Period, int] = MappingProxyType(
    {
        Period.PT1M: MINUTE_MS,
        Period.PT5M: 5 * MINUTE_MS,
        Period.PT15M: 15 * MINUTE_MS,
        Period.PT30M: HALF_HOUR_MS,
        Period.PT1H: HOUR_MS,
    }
)
"""The lengths of the periods that are the same on each day."""

_MIN_LENGTHS_MS = {
    **FIXED_LENGTHS_MS,
    Period.P1D: 23 * HOUR_MS,
    Period.P1W: 7 * DAY_MS - HOUR_MS,
    Period.P1M: 28 * DAY_MS - HOUR_MS,
    Period.P3M: 90 * DAY_MS - HOUR_MS,
    Period.P1Y: 364 * DAY_MS,
}


@dataclass(frozen=True, slots=True)
class BucketRun:
    """`count` consecutive buckets of length `step`. The first one begins at `start`."""

    start: int
    step: int
    count: int

    @property
    def stop(self) -> int:
        return self.start + self.step * self.count


@dataclass(frozen=True)
class BucketGrid:
    """Consecutive buckets, stored as runs. n buckets have n + 1 edges."""

    runs: tuple[BucketRun, ...]

    @cached_property
    def edges(self) -> list[int]:
        """The start of each bucket, and the end of the last one."""
        starts = [edge for run in self.runs for edge in range(run.start, run.stop, run.step)]
        return [*starts, self.stop]

    @cached_property
    def starts(self) -> list[int]:
        """The start of each bucket, in ms since 1970."""
        return self.edges[:-1]

    @cached_property
    def encoded_starts(self) -> bytes:
        """The start of each bucket as a big-endian integer of 8 bytes, the format of PostgreSQL's int8send."""
        return struct.pack(f">{self.count}q", *self.starts)

    @cached_property
    def labels(self) -> list[str]:
        """The edges as text (`clock.format_iso_ms`)."""
        return [format_iso_ms(edge) for edge in self.edges]

    @cached_property
    def timestamps(self) -> list[Timestamp]:
        """The edges as text, typed as timestamps."""
        return [Timestamp(label) for label in self.labels]

    def positions_of(self, instants: list[int]) -> list[int]:
        """Return the position of the bucket that contains each instant. All instants must be within the grid."""
        return [bisect_right(self.edges, instant) - 1 for instant in instants]

    @property
    def start(self) -> int:
        return self.runs[0].start

    @property
    def stop(self) -> int:
        return self.runs[-1].stop

    @property
    def count(self) -> int:
        return sum(run.count for run in self.runs)


def refine_grid(grid: BucketGrid, spans: Sequence[tuple[int, int]]) -> BucketGrid:
    """Return a grid whose buckets do not cross the bounds of spans. Its other edges are those of the given grid."""
    bounds = {bound for span in spans for bound in span if grid.start < bound < grid.stop}
    edges = sorted(bounds.union(grid.edges))
    return BucketGrid(_merge_runs(BucketRun(edge, following - edge, 1) for edge, following in pairwise(edges)))


def max_bucket_count(start: datetime, stop: datetime, period: Period) -> int:
    """Return an upper bound for the number of buckets from start to stop, without building them."""
    return (to_ms(stop) - to_ms(start)) // _MIN_LENGTHS_MS[period] + 2


def max_range(period: Period, count: int) -> timedelta:
    """Return a duration that has at most `count` buckets for any start. It is in whole days if it is a day or more."""
    span = timedelta(milliseconds=(count - 2) * _MIN_LENGTHS_MS[period])
    return timedelta(days=span.days) if span.days else span


def suggest_range(start: datetime, stop: datetime, period: Period, limit: int) -> str:
    """Return a longer period or a shorter range within the limit of buckets, such as `P1D, or at most 13 days`."""
    longer_period = next((candidate for candidate in Period if max_bucket_count(start, stop, candidate) <= limit), None)
    span = max_range(period, limit)
    shorter_range = f"at most {span.days:,} days" if span.days else f"at most {span // timedelta(hours=1)} hours"
    return f"{longer_period.value}, or {shorter_range}" if longer_period else shorter_range


@lru_cache(maxsize=64)
def build_grid(
    start: datetime, stop: datetime, period: Period, zone: tzinfo, week_start: Weekday = Weekday.MONDAY
) -> BucketGrid:
    """Return all buckets that overlap [start, stop).

    Days, weeks, months, quarters and years begin at midnight of the zone's wall clock, so a day with a clock change
    lasts 23 to 25 hours. Shorter buckets divide the hours of the zone. For them, a clock change is also an edge, so a
    bucket with a clock change inside is cut in two.
    """
    if period in FIXED_LENGTHS_MS:
        return BucketGrid(_merge_runs(_fixed_length_runs(to_ms(start), to_ms(stop), FIXED_LENGTHS_MS[period], zone)))
    edges = _calendar_edges(start, to_ms(stop), period, zone, week_start)
    return BucketGrid(_merge_runs(BucketRun(edge, following - edge, 1) for edge, following in pairwise(edges)))


def day_start(day: date, zone: tzinfo) -> int:
    """Return the instant at which a day begins.

    If clocks change at midnight, this is the first of two midnights, or the instant of the change if there is none.
    """
    return to_ms(datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC))


def _fixed_length_runs(start: int, stop: int, step: int, zone: tzinfo) -> Iterator[BucketRun]:
    """Yield the buckets of a fixed length, for each span between two clock changes."""
    grid_start = start - step
    grid_start -= (grid_start + _utc_offset_ms(grid_start, zone)) % step
    for begin, end in pairwise([grid_start, *_clock_changes(grid_start, stop + step, zone), stop + step]):
        for run in _runs_between(begin, end, step, _utc_offset_ms(begin, zone)):
            yield from _clip_run(run, start, stop)


def _runs_between(begin: int, end: int, step: int, offset: int) -> Iterator[BucketRun]:
    """Yield the buckets between two clock changes. The first and last bucket may be shorter."""
    first = begin + -(begin + offset) % step
    if first >= end:
        yield BucketRun(begin, end - begin, 1)
        return
    if first > begin:
        yield BucketRun(begin, first - begin, 1)
    count, rest = divmod(end - first, step)
    if count:
        yield BucketRun(first, step, count)
    if rest:
        yield BucketRun(end - rest, rest, 1)


def _clip_run(run: BucketRun, start: int, stop: int) -> Iterator[BucketRun]:
    """Yield the part of a run whose buckets overlap [start, stop)."""
    skip = max(0, (start - run.start) // run.step)
    count = min(run.count, -((run.start - stop) // run.step)) - skip
    if count > 0:
        yield BucketRun(run.start + skip * run.step, run.step, count)


def _utc_offset_ms(instant: int, zone: tzinfo) -> int:
    offset = zone.utcoffset(from_ms(instant).astimezone(zone))
    assert offset is not None  # zoneinfo and fixed zones always return an offset
    return offset // timedelta(milliseconds=1)


def _clock_changes(start: int, stop: int, zone: tzinfo) -> list[int]:
    """Return the instants between start and stop at which the zone's offset changes, to the millisecond."""
    changes = []
    probes = [*range(start, stop - 1, 12 * HOUR_MS), stop - 1]
    offsets = [_utc_offset_ms(probe, zone) for probe in probes]
    for (low, high), (before, after) in zip(pairwise(probes), pairwise(offsets), strict=True):
        if before == after:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _utc_offset_ms(middle, zone) == before else (low, middle)
        changes.append(high)
    return changes


def _calendar_edges(start: datetime, stop: int, period: Period, zone: tzinfo, week_start: Weekday) -> list[int]:
    day = _period_start(start.astimezone(zone).date(), period, week_start)
    edges = [day_start(day, zone)]
    while edges[-1] < stop:
        day = _next_period_start(day, period)
        edge = day_start(day, zone)
        if edge > edges[-1]:  # a day that the zone skipped has no bucket
            edges.append(edge)
    return edges


def _period_start(day: date, period: Period, week_start: Weekday) -> date:
    match period:
        case Period.P1W:
            return day - timedelta(days=(day.weekday() - week_start.value) % 7)
        case Period.P1M:
            return day.replace(day=1)
        case Period.P3M:
            return day.replace(month=day.month - (day.month - 1) % 3, day=1)
        case Period.P1Y:
            return day.replace(month=1, day=1)
        case _:
            return day


def _next_period_start(day: date, period: Period) -> date:
    match period:
        case Period.P1D:
            return day + timedelta(days=1)
        case Period.P1W:
            return day + timedelta(days=7)
        case Period.P1M:
            return (day + timedelta(days=31)).replace(day=1)
        case Period.P3M:
            return (day + timedelta(days=92)).replace(day=1)
        case _:
            return day.replace(year=day.year + 1)


def _merge_runs(runs: Iterable[BucketRun]) -> tuple[BucketRun, ...]:
    """Return the same buckets in as few runs as possible."""
    merged: list[BucketRun] = []
    for run in runs:
        if merged and merged[-1].step == run.step and merged[-1].stop == run.start:
            last = merged.pop()
            run = BucketRun(last.start, last.step, last.count + run.count)
        merged.append(run)
    return tuple(merged)


# Checks of the time ranges of series.

MAX_BUCKETS = 20_000
"""The maximum number of buckets in a series."""


def resolve_range(range: TimeRange, now: datetime) -> tuple[datetime, datetime]:
    """Return the start and end of a range; an open range ends now. Raise BadInput if it is empty."""
    start, end = range.start, range.end or now
    if end <= start:
        problem = Problem(("range", "end"), "is not after the start")
        raise BadInput("The range is empty: its end is not after its start. Use a later end.", problems=[problem])
    return start, end


def check_bucket_count(start: datetime, end: datetime, period: Period) -> None:
    """Raise BadInput if a range may have more buckets than a series can have."""
    if (count := max_bucket_count(start, end, period)) > MAX_BUCKETS:
        raise BadInput(
            f"A series has at most {MAX_BUCKETS:,} buckets, but this range has about {count:,} of {period.value}. "
            f"Request {suggest_range(start, end, period, MAX_BUCKETS)}.",
            problems=[Problem(("period",), f"gives more than {MAX_BUCKETS:,} buckets")],
        )
