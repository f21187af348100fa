"""Where the buckets of a series begin and end, in any time zone, through every clock change. Pure.

Instants and lengths are in milliseconds; instants count from 1970, UTC.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cached_property, lru_cache
from itertools import pairwise

from wattgate.clock import Timestamp, from_ms, iso_ms, to_ms
from wattgate.enums import Period, Weekday

MINUTE = 60 * 1000
HALF_HOUR = 30 * MINUTE
HOUR = 60 * MINUTE
DAY = 24 * HOUR

_FIXED = {Period.PT1M: MINUTE, Period.PT30M: HALF_HOUR, Period.PT1H: HOUR}
_SHORTEST = _FIXED | {
    Period.P1D: 23 * HOUR,
    Period.P1W: 7 * DAY - HOUR,
    Period.P1M: 28 * DAY - HOUR,
    Period.P1Y: 364 * DAY,
}


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive buckets of one length: `count` of them, each `step` long, the first one from `start` on."""

    start: int
    step: int
    count: int

    @property
    def stop(self) -> int:
        return self.start + self.step * self.count


@dataclass(frozen=True)
class Grid:
    """Consecutive buckets, as runs. n buckets have n + 1 edges."""

    runs: tuple[Run, ...]

    @cached_property
    def edges(self) -> list[int]:
        """Where each bucket begins, and where the last one ends."""
        starts = [edge for run in self.runs for edge in range(run.start, run.stop, run.step)]
        return [*starts, self.stop]

    @cached_property
    def labels(self) -> list[str]:
        """The edges as texts (`clock.iso`)."""
        return [iso_ms(edge) for edge in self.edges]

    @cached_property
    def timestamps(self) -> list[Timestamp]:
        """The same, known to be timestamps."""
        return [Timestamp(label) for label in self.labels]

    def positions(self, instants: list[int]) -> list[int]:
        """The positions of the buckets that instants of the grid's span fall into."""
        if instants == self.edges[:-1]:  # as it is where every sample is there
            return list(range(self.count))
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


def at_most(start: datetime, stop: datetime, period: Period) -> int:
    """An upper bound for the count of buckets from start to stop, without making them."""
    return (to_ms(stop) - to_ms(start)) // _SHORTEST[period] + 2


def longest(period: Period, count: int) -> timedelta:
    """A span that has at most so many buckets wherever it begins, in whole days where that is a day or more."""
    span = timedelta(milliseconds=(count - 2) * _SHORTEST[period])
    return timedelta(days=span.days) if span.days else span


def instead(start: datetime, stop: datetime, period: Period, limit: int) -> str:
    """What to ask so that there are no more buckets than the limit: a longer period, or a shorter range."""
    fitting = next((one for one in Period if at_most(start, stop, one) <= limit), None)
    span = longest(period, limit)
    most = f"at most {span.days:,} days" if span.days else f"at most {span // timedelta(hours=1)} hours"
    return f"ask {fitting.value}, or {most}" if fitting else f"ask {most}"


@lru_cache(maxsize=64)
def grid(start: datetime, stop: datetime, period: Period, zone: tzinfo, week_start: Weekday = Weekday.MONDAY) -> Grid:
    """All buckets that share time with [start, stop).

    Days, weeks, months and years begin at midnight of the zone's wall clock, so that days last 23 to 25 hours where
    clocks change; shorter buckets begin on the zone's full minute, half hour or hour. A clock change is an edge too,
    so that a bucket which it cuts is shorter.
    """
    if period in _FIXED:
        return Grid(_merged(_fixed(to_ms(start), to_ms(stop), _FIXED[period], zone)))
    edges = _calendar(start, to_ms(stop), period, zone, week_start)
    return Grid(_merged(Run(edge, following - edge, 1) for edge, following in pairwise(edges)))


def midnight(day: date, zone: tzinfo) -> int:
    """The instant at which a day begins: the first of two midnights; the change itself where there is none."""
    return to_ms(datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC))


def _fixed(start: int, stop: int, step: int, zone: tzinfo) -> Iterator[Run]:
    """The buckets of a fixed length, piece by piece of the time between two clock changes."""
    far = start - step
    far -= (far + _offset(far, zone)) % step
    for begin, end in pairwise([far, *_changes(far, stop + step, zone), stop + step]):
        for run in _piece(begin, end, step, _offset(begin, zone)):
            yield from _trimmed(run, start, stop)


def _piece(begin: int, end: int, step: int, offset: int) -> Iterator[Run]:
    """The buckets from begin to end, between which the clocks do not change; the first and last may be cut."""
    first = begin + -(begin + offset) % step
    if first >= end:
        yield Run(begin, end - begin, 1)
        return
    if first > begin:
        yield Run(begin, first - begin, 1)
    count, rest = divmod(end - first, step)
    if count:
        yield Run(first, step, count)
    if rest:
        yield Run(end - rest, rest, 1)


def _trimmed(run: Run, start: int, stop: int) -> Iterator[Run]:
    """Of a run the buckets that share time with [start, stop)."""
    skip = max(0, (start - run.start) // run.step)
    count = min(run.count, -((run.start - stop) // run.step)) - skip
    if count > 0:
        yield Run(run.start + skip * run.step, run.step, count)


def _offset(instant: int, zone: tzinfo) -> int:
    offset = zone.utcoffset(from_ms(instant).astimezone(zone))
    assert offset is not None  # zoneinfo and fixed zones always know
    return offset // timedelta(milliseconds=1)


def _changes(start: int, stop: int, zone: tzinfo) -> list[int]:
    """The instants after start and until stop at which the zone's offset changes."""
    found = []
    probes = [*range(start, stop, 12 * HOUR), stop]
    offsets = [_offset(probe, zone) for probe in probes]
    for (low, high), (before, after) in zip(pairwise(probes), pairwise(offsets), strict=True):
        if before == after:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _offset(middle, zone) == before else (low, middle)
        found.append(high)
    return found


def _calendar(start: datetime, stop: int, period: Period, zone: tzinfo, week_start: Weekday) -> list[int]:
    day = _first_day(start.astimezone(zone).date(), period, week_start)
    edges = [midnight(day, zone)]
    while edges[-1] < stop:
        day = _next_first_day(day, period)
        edge = midnight(day, zone)
        if edge > edges[-1]:  # a day that a zone left out has no bucket
            edges.append(edge)
    return edges


def _first_day(day: date, period: Period, week_start: Weekday) -> date:
    match period:
        case Period.P1W:
            return day - timedelta(days=(day.weekday() - week_start.value) % 7)
        case Period.P1M:
            return day.replace(day=1)
        case Period.P1Y:
            return day.replace(month=1, day=1)
        case _:
            return day


def _next_first_day(day: date, period: Period) -> date:
    match period:
        case Period.P1D:
            return day + timedelta(days=1)
        case Period.P1W:
            return day + timedelta(days=7)
        case Period.P1M:
            return (day + timedelta(days=31)).replace(day=1)
        case _:
            return day.replace(year=day.year + 1)


def _merged(runs: Iterable[Run]) -> tuple[Run, ...]:
    """The same buckets in as few runs as can be."""
    merged: list[Run] = []
    for run in runs:
        if merged and merged[-1].step == run.step and merged[-1].stop == run.start:
            last = merged.pop()
            run = Run(last.start, last.step, last.count + run.count)
        merged.append(run)
    return tuple(merged)
