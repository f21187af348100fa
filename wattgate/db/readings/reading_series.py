"""A series of readings in buckets, as it is told: its buckets as objects or columns, and what they amount to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, TypeVar

import msgspec

from wattgate.clock import Timestamp, from_ms
from wattgate.db.models import Resource
from wattgate.db.readings.aggregates import Aggregates, SeriesKey
from wattgate.db.readings.series_keys import key_of
from wattgate.db.wire_column import Column
from wattgate.energy.buckets import Grid, instead
from wattgate.energy.storage_fields import Field
from wattgate.enums import BucketQuality, Function, Period, Weekday
from wattgate.errors import BadInput

T = TypeVar("T")

MAX_OBJECTS = 2_000
"""How many buckets are told as objects; columns hold as many as a series may have."""


class Bucket(msgspec.Struct, gc=False):
    """One span of a series, from `start` on. `value` is None where no reading is stored for the span.

    Of most buckets little else is asked, so that the series tells it when it is.
    """

    start: Timestamp
    value: float | None
    series: "ReadingSeries"
    position: int

    @property
    def end(self) -> Timestamp:
        return self.series.grid.timestamps[self.position + 1]

    @property
    def count(self) -> int:
        """How many readings are stored for the span."""
        return self.series.amounts.count[self.position]

    @property
    def expected(self) -> int | None:
        """How many the span is to have; None where that is not known."""
        return None if self.series.expected is None else self.series.expected[self.position]

    @property
    def quality(self) -> BucketQuality:
        return quality(self.count, self.expected, self.estimated)

    @property
    def completeness(self) -> float | None:
        """The share of the samples that the span is to have; None where that is not known."""
        return self.count / self.expected if self.expected else None

    @property
    def estimated(self) -> int:
        """How many of the readings are not ACTUAL."""
        return self.series.amounts.estimated[self.position]

    @property
    def revision(self) -> int:
        """How often a reading of the span was replaced by another value."""
        return self.series.amounts.revision[self.position]


class Incomplete(NamedTuple):
    """The first bucket that lacks a sample: where its samples begin, its end, and the time between two of them (ms).

    `begun` is whether its first sample is there; `complete_before` whether earlier buckets had samples to have.
    """

    start: int
    stop: int
    step: int
    begun: bool
    complete_before: bool


@dataclass(frozen=True)
class ReadingSeries:
    """The readings of one field of a resource in the buckets of a grid; `resource` is the row it was asked of.

    An open range has no `end`; `until` is then the present instant. `values` has one value for each bucket, by the
    function. Of the buckets only those are told in which something was received after `since` (ms since 1970), if that
    is given; what the series amounts to is told of all of them.
    """

    resource: Resource
    storage: Field
    start: datetime
    end: datetime | None
    until: datetime
    period: Period
    function: Function
    time_zone: tzinfo
    week_start: Weekday
    grid: Grid
    amounts: Aggregates
    values: list[float | None]
    since: int | None
    as_of: datetime

    @property
    def key(self) -> SeriesKey:
        """The key of what the series was read from."""
        return key_of(self.resource, self.storage)

    @property
    def field(self) -> str:
        return self.storage.name

    @property
    def unit(self) -> str:
        return self.storage.unit

    @property
    def buckets(self) -> list[Bucket]:
        """The buckets as objects. BadInput where they are too many for that."""
        if len(self.told) > MAX_OBJECTS:
            raise BadInput(
                f"buckets are told as objects up to {MAX_OBJECTS:,}, and these are {len(self.told):,}: ask columns, or "
                + instead(self.start, self.until, self.period, MAX_OBJECTS).removeprefix("ask ")
            )
        starts, values = self.grid.timestamps, self.values
        return [Bucket(starts[position], values[position], self, position) for position in self.told]

    @property
    def columns(self) -> "BucketColumns":
        return BucketColumns(self)

    @property
    def total(self) -> float | None:
        """The sum of all readings; None where there is none."""
        return self.storage.number(sum(self.amounts.sum)) if self.count else None

    @property
    def mean(self) -> float | None:
        """The mean of all readings; None where there is none."""
        return self.storage.number(sum(self.amounts.sum)) / self.count if self.count else None

    @property
    def highest(self) -> Bucket | None:
        """The bucket with the greatest value, the first of several; None where all are empty."""
        return self._extreme(1)

    @property
    def lowest(self) -> Bucket | None:
        """The bucket with the least value, the first of several; None where all are empty."""
        return self._extreme(-1)

    @cached_property
    def count(self) -> int:
        return sum(self.amounts.count)

    @property
    def completeness(self) -> float | None:
        if self.expected is None:
            return None
        wanted = sum(self.expected)
        return self.count / wanted if wanted else None

    @property
    def quality(self) -> BucketQuality:
        expected = None if self.expected is None else sum(self.expected)
        return quality(self.count, expected, sum(self.amounts.estimated))

    @property
    def revision(self) -> int:
        return sum(self.amounts.revision)

    @property
    def collected_to(self) -> datetime | None:
        """The end of the newest sample; None where there is none."""
        ends = [at for at, count in zip(self.amounts.last_at, self.amounts.count, strict=True) if count]
        return from_ms(max(ends) + (self.storage.interval_ms or 0)) if ends else None

    @cached_property
    def told(self) -> list[int]:
        """The positions of the buckets that are told."""
        if self.since is None:
            return list(range(self.grid.count))
        since, amounts = self.since, self.amounts
        return [
            position
            for position, (count, received_at) in enumerate(zip(amounts.count, amounts.received_at, strict=True))
            if count and received_at > since
        ]

    @cached_property
    def expected(self) -> list[int] | None:
        """How many samples each bucket is to have; None where they are taken at any time."""
        interval, start = self.storage.interval_ms, self.storage.start_ms
        if interval is None:
            return None
        if all(run.step % interval == 0 for run in self.grid.runs):
            return [count for run in self.grid.runs for count in [run.step // interval] * run.count]
        before = [(start - edge) // interval for edge in self.grid.edges]
        return [one - other for one, other in pairwise(before)]

    def bucket(self, position: int) -> Bucket:
        """The bucket at a position of the grid."""
        return Bucket(self.grid.timestamps[position], self.values[position], self, position)

    def first_incomplete(self) -> Incomplete | None:
        """The first bucket that lacks a sample; None where none does, or where samples are taken at any time."""
        interval = self.storage.interval_ms
        if self.expected is None or interval is None:
            return None
        counts = zip(self.amounts.count, self.expected, strict=True)
        position = next((place for place, (count, expected) in enumerate(counts) if count < expected), None)
        if position is None:
            return None
        start, stop = self.grid.edges[position : position + 2]
        first = start + (self.storage.start_ms - start) % interval
        begun = self.amounts.count[position] > 0 and self.amounts.first_at[position] == first
        return Incomplete(first, stop, interval, begun, any(self.expected[:position]))

    def _extreme(self, sign: int) -> Bucket | None:
        """The bucket whose value is greatest, or least where the sign is -1."""
        filled = [(sign * value, -position) for position, value in enumerate(self.values) if value is not None]
        return self.bucket(-max(filled)[1]) if filled else None


@dataclass(frozen=True, slots=True)
class BucketColumns:
    """The buckets of a series as columns: equal places belong together."""

    series: ReadingSeries

    @property
    def start(self) -> Column[str]:
        return Column(self._of(self.series.grid.labels[:-1]))

    @property
    def end(self) -> Column[str]:
        return Column(self._of(self.series.grid.labels[1:]))

    @property
    def value(self) -> Column[float | None]:
        return Column(self._of(self.series.values))

    @property
    def count(self) -> Column[int]:
        return Column(self._of(self.series.amounts.count))

    @property
    def estimated(self) -> Column[int]:
        return Column(self._of(self.series.amounts.estimated))

    @property
    def revision(self) -> Column[int]:
        return Column(self._of(self.series.amounts.revision))

    @property
    def quality(self) -> Column[str]:
        amounts = self.series.amounts
        if amounts.count == self.series.expected and all(amounts.count) and not any(amounts.estimated):
            return Column(self._of([BucketQuality.ACTUAL.value] * len(amounts.count)))
        columns = zip(amounts.count, self._expected, amounts.estimated, strict=True)
        return Column(self._of([quality(*bucket).value for bucket in columns]))

    @property
    def completeness(self) -> Column[float | None]:
        shares = zip(self.series.amounts.count, self._expected, strict=True)
        return Column(self._of([count / expected if expected else None for count, expected in shares]))

    @property
    def _expected(self) -> Sequence[int | None]:
        return self.series.expected or [None] * self.series.grid.count

    def _of(self, column: Sequence[T]) -> Iterable[T]:
        """Of a column for all buckets those places that are told."""
        return column if self.series.since is None else (column[position] for position in self.series.told)


def quality(count: int, expected: int | None, estimated: int) -> BucketQuality:
    """What a span is worth that has so many readings of so many expected (None: not known), some of them estimated."""
    if not count:
        return BucketQuality.MISSING
    if expected is not None and count < expected:
        return BucketQuality.PARTIAL
    return BucketQuality.ESTIMATED if estimated else BucketQuality.ACTUAL
