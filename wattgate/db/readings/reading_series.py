"""A series of readings in buckets: its buckets as objects or columns, and its totals."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, TypeVar

import msgspec

from wattgate.clock import Timestamp, from_ms
from wattgate.db.column_types import SerializedColumn, SerializedRows
from wattgate.db.models import Resource
from wattgate.db.readings.aggregates import Aggregates, SeriesKey
from wattgate.db.readings.series_keys import series_key
from wattgate.energy.buckets import BucketGrid, suggest_range
from wattgate.energy.functions import function_problem
from wattgate.energy.ownership import Ownership
from wattgate.energy.storage_fields import ReadingField
from wattgate.energy.withdrawals import Withdrawals
from wattgate.enums import BucketQuality, Function, NoValueReason, Period, Weekday
from wattgate.errors import BadInput

T = TypeVar("T")

MAX_BUCKET_OBJECTS = 2_000
"""The maximum number of buckets as objects. Columns can have all buckets of a series."""


class ReadingBucket(msgspec.Struct, gc=False):
    """One span of a series, from `start` on. `value` is None if no reading is stored for the span.

    Most queries select only these two fields. The others are computed from the series on access.
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
        """The number of stored readings in the span."""
        return self.series.aggregates.count[self.position]

    @property
    def expected(self) -> int | None:
        """The expected number of readings; None if it is unknown."""
        return None if self.series.bucket_expected is None else self.series.bucket_expected[self.position]

    @property
    def quality(self) -> BucketQuality:
        return bucket_quality(self.count, self.expected, self.estimated)

    @property
    def completeness(self) -> float | None:
        """The stored share of the expected readings; None if it is unknown."""
        return stored_share(self.count, self.expected)

    @property
    def estimated(self) -> int:
        """The number of readings whose quality is not ACTUAL."""
        return self.series.aggregates.estimated[self.position]

    @property
    def revision(self) -> int:
        """The number of times that another value replaced a reading of the span, and more after a withdrawal."""
        return self.series.revisions[self.position]

    @property
    def no_value_reason(self) -> NoValueReason | None:
        """Why the value is None; None if there is a value."""
        return self.series.bucket_reason(self.position)


class IncompleteBucket(NamedTuple):
    """The first bucket that lacks a sample.

    `start` is the instant of its first expected sample, `stop` its end, and `step` the sampling interval, all in ms.
    `has_first_sample` is true if its first sample is stored. `has_complete_predecessors` is true if earlier buckets
    expected samples; all of these are stored.
    """

    start: int
    stop: int
    step: int
    has_first_sample: bool
    has_complete_predecessors: bool


@dataclass(frozen=True)
class ReadingSeries:
    """The readings of one field of a resource in the buckets of a grid. `resource` is the row of the request.

    An open range has no `end`; `effective_end` is then the current time. `values` has one value for each bucket, by the
    function. If `received_after` (ms since 1970) is set, only buckets with readings received or withdrawn after it are
    selected.
    Totals always cover all buckets. `as_of` is the time up to which all received readings are included. `ownership` is
    when the household has the resource: no sample of another time is expected.
    """

    resource: Resource
    ownership: Ownership
    reading_field: ReadingField
    start: datetime
    end: datetime | None
    effective_end: datetime
    period: Period
    function: Function
    time_zone: tzinfo
    week_start: Weekday
    grid: BucketGrid
    aggregates: Aggregates
    values: list[float | None]
    received_after: int | None
    as_of: datetime

    @property
    def series_key(self) -> SeriesKey:
        """The key of the stored series."""
        return series_key(self.resource, self.reading_field)

    @property
    def field(self) -> str:
        return self.reading_field.name

    @property
    def unit(self) -> str:
        return self.reading_field.unit

    @property
    def buckets(self) -> SerializedRows[ReadingBucket]:
        """The buckets as rows. Raise BadInput if there are more than MAX_BUCKET_OBJECTS."""
        size = self.grid.count if self.received_after is None else len(self.selected_positions)
        if size > MAX_BUCKET_OBJECTS:
            raise BadInput(
                f"A series returns at most {MAX_BUCKET_OBJECTS:,} buckets as objects, but this one has "
                f"{size:,}. Request columns, or "
                f"{suggest_range(self.start, self.effective_end, self.period, MAX_BUCKET_OBJECTS)}."
            )
        return SerializedRows(self.columns, self._build_buckets)

    def _build_buckets(self) -> list[ReadingBucket]:
        starts, values = self.grid.timestamps, self.values
        return [
            ReadingBucket(starts[position], values[position], self, position) for position in self.selected_positions
        ]

    @property
    def columns(self) -> "BucketColumns":
        return BucketColumns(self)

    @property
    def total(self) -> float | None:
        """The sum of all readings; None if there are none, or if a sum has no meaning for the field."""
        if not self.count or function_problem(self.reading_field, Function.SUM):
            return None
        return self.reading_field.from_stored(self.aggregates.total)

    @property
    def mean(self) -> float | None:
        """The mean of all readings; None if there are none."""
        return self.reading_field.from_stored(self.aggregates.total) / self.count if self.count else None

    @property
    def highest(self) -> ReadingBucket | None:
        """The bucket with the greatest value, the first of several; None if all are empty."""
        return self._extreme(1)

    @property
    def lowest(self) -> ReadingBucket | None:
        """The bucket with the least value, the first of several; None if all are empty."""
        return self._extreme(-1)

    @cached_property
    def count(self) -> int:
        return sum(self.aggregates.count)

    @property
    def includes_standing_charge(self) -> bool | None:
        """Whether the values contain the standing charge: False for computed costs, None for other values."""
        return False if self.resource.cost_of else None

    @property
    def includes_vat(self) -> bool | None:
        """Whether the values contain VAT: True for computed costs, None for other values."""
        return True if self.resource.cost_of else None

    @property
    def no_value_reason(self) -> NoValueReason | None:
        """Why the total is None; None if there is a total."""
        return self.aggregates.no_value_reason(self.grid.edges, 0, self.grid.count - 1)

    @property
    def completeness(self) -> float | None:
        if self.expected is None:
            return None
        expected = sum(self.expected)
        return stored_share(self.count, expected)

    @property
    def quality(self) -> BucketQuality:
        expected = None if self.expected is None else sum(self.expected)
        return bucket_quality(self.count, expected, sum(self.aggregates.estimated))

    @property
    def revision(self) -> int:
        """The sum of the revisions of all readings. A withdrawal counts once, whatever the number of its buckets."""
        edges = self.grid.edges
        withdrawn = sum(each.revisions for each in self._withdrawals if each.positions(edges))
        return sum(self.aggregates.revision) + withdrawn

    @cached_property
    def revisions(self) -> Sequence[int]:
        """The revision of each bucket. A withdrawal of readings increases that of the buckets in its span."""
        revisions = self.aggregates.revision
        if self._withdrawals:
            revisions = [*revisions]
            for withdrawal in self._withdrawals:
                for position in withdrawal.positions(self.grid.edges):
                    revisions[position] += withdrawal.revisions
        return revisions

    @property
    def _withdrawals(self) -> Withdrawals:
        """The withdrawals of readings of the field."""
        known = self.resource.withdrawals or ()
        return tuple(each for each in known if each.first_field <= self.reading_field.index)

    @property
    def collected_to(self) -> datetime | None:
        """The end of the newest sample; None if there is none."""
        ends = [at for at, count in zip(self.aggregates.last_at, self.aggregates.count, strict=True) if count]
        return from_ms(max(ends) + (self.reading_field.interval_ms or 0)) if ends else None

    @cached_property
    def selected_positions(self) -> list[int]:
        """The positions of the selected buckets."""
        if self.received_after is None:
            return list(range(self.grid.count))
        since, amounts = self.received_after, self.aggregates
        withdrawn = {
            position
            for withdrawal in self._withdrawals
            if withdrawal.withdrawn_at > since
            for position in withdrawal.positions(self.grid.edges)
        }
        return [
            position
            for position, (count, received_at) in enumerate(zip(amounts.count, amounts.received_at, strict=True))
            if (count and received_at > since) or position in withdrawn
        ]

    @cached_property
    def expected(self) -> list[int] | None:
        """The samples of each bucket that are of the household; None if sampling is irregular."""
        counts = self.bucket_expected
        return counts and self.ownership.limit_expected(counts, self.reading_field, self.grid.edges)

    @cached_property
    def bucket_expected(self) -> list[int] | None:
        """The number of samples that belong to each bucket; None if sampling is irregular.

        It does not depend on moves, because a move gives no new revision to a bucket without readings.
        """
        interval, start = self.reading_field.interval_ms, self.reading_field.start_ms
        if interval is None:
            return None
        if start <= self.grid.start and all(run.step % interval == 0 for run in self.grid.runs):
            return [count for run in self.grid.runs for count in [run.step // interval] * run.count]
        samples_to_start = [min(0, (start - edge) // interval) for edge in self.grid.edges]
        return [count - next_count for count, next_count in pairwise(samples_to_start)]

    def bucket_reason(self, position: int) -> NoValueReason | None:
        """Return why the bucket at a position of the grid has no value; None if it has one."""
        return self.aggregates.no_value_reason(self.grid.edges, position, position)

    def bucket(self, position: int) -> ReadingBucket:
        """Return the bucket at a position of the grid."""
        return ReadingBucket(self.grid.timestamps[position], self.values[position], self, position)

    def first_incomplete(self) -> IncompleteBucket | None:
        """Return the first bucket that lacks a sample; None if all are complete or sampling is irregular."""
        interval = self.reading_field.interval_ms
        if self.expected is None or interval is None:
            return None
        counts = zip(self.aggregates.count, self.expected, strict=True)
        position = next((index for index, (count, expected) in enumerate(counts) if count < expected), None)
        if position is None:
            return None
        start, stop = self.grid.edges[position : position + 2]
        own = self.ownership.within(start, stop)[0][0]
        first = own + (self.reading_field.start_ms - own) % interval
        has_first_sample = self.aggregates.count[position] > 0 and self.aggregates.first_at[position] == first
        return IncompleteBucket(first, stop, interval, has_first_sample, any(self.expected[:position]))

    def _extreme(self, sign: int) -> ReadingBucket | None:
        """Return the bucket with the greatest value, or with the least value if `sign` is -1."""
        candidates = [(sign * value, -position) for position, value in enumerate(self.values) if value is not None]
        return self.bucket(-max(candidates)[1]) if candidates else None


@dataclass(frozen=True, slots=True)
class BucketColumns:
    """The selected buckets of a series as columns. Equal positions belong to the same bucket."""

    series: ReadingSeries

    @property
    def start(self) -> SerializedColumn[str]:
        return SerializedColumn(self._select(self.series.grid.labels[:-1]))

    @property
    def end(self) -> SerializedColumn[str]:
        return SerializedColumn(self._select(self.series.grid.labels[1:]))

    @property
    def value(self) -> SerializedColumn[float | None]:
        return SerializedColumn(self._select(self.series.values))

    @property
    def count(self) -> SerializedColumn[int]:
        return SerializedColumn(self._select(self.series.aggregates.count))

    @property
    def estimated(self) -> SerializedColumn[int]:
        return SerializedColumn(self._select(self.series.aggregates.estimated))

    @property
    def revision(self) -> SerializedColumn[int]:
        return SerializedColumn(self._select(self.series.revisions))

    @property
    def quality(self) -> SerializedColumn[str]:
        amounts = self.series.aggregates
        if amounts.count == self.series.bucket_expected and all(amounts.count) and not any(amounts.estimated):
            return SerializedColumn(self._select([BucketQuality.ACTUAL.value] * len(amounts.count)))
        columns = zip(amounts.count, self._expected, amounts.estimated, strict=True)
        return SerializedColumn(self._select([bucket_quality(*bucket).value for bucket in columns]))

    @property
    def completeness(self) -> SerializedColumn[float | None]:
        shares = zip(self.series.aggregates.count, self._expected, strict=True)
        return SerializedColumn(self._select([stored_share(count, expected) for count, expected in shares]))

    @property
    def no_value_reason(self) -> SerializedColumn[str | None]:
        if self.series.received_after is None and all(self.series.aggregates.count):
            return SerializedColumn([None] * self.series.grid.count)
        reasons = (self.series.bucket_reason(position) for position in self.series.selected_positions)
        return SerializedColumn([None if reason is None else reason.value for reason in reasons])

    @property
    def _expected(self) -> Sequence[int | None]:
        return self.series.bucket_expected or [None] * self.series.grid.count

    def _select(self, column: Sequence[T]) -> Iterable[T]:
        """Return the values of the selected buckets from a column of all buckets."""
        return (
            column
            if self.series.received_after is None
            else (column[position] for position in self.series.selected_positions)
        )


def stored_share(count: int, expected: int | None) -> float | None:
    """Return the share of the expected readings that is stored, 0 to 1; None if none are expected or it is unknown."""
    if not expected:
        return None
    return 1.0 if count >= expected else count / expected


def bucket_quality(count: int, expected: int | None, estimated: int) -> BucketQuality:
    """Return the quality of a span from the numbers of its readings: stored, expected (None: unknown), estimated."""
    if not count:
        return BucketQuality.MISSING
    if expected is not None and count < expected:
        return BucketQuality.PARTIAL
    return BucketQuality.ESTIMATED if estimated else BucketQuality.ACTUAL
