"""Comparisons of series with an earlier period.

A series that is not complete is compared with the same elapsed time of the earlier period. Readings of times without
the consent of the household are not used.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from wattgate.clock import TimeRange, to_ms
from wattgate.db.queries.series.readings import load_consented_aggregates, load_values, readings
from wattgate.db.readings.aggregates import Aggregates
from wattgate.db.readings.reading_series import ReadingSeries, bucket_quality, stored_share
from wattgate.db.rows.rows import Rows
from wattgate.energy.baselines import ComparisonRange, comparison_range, open_range_end
from wattgate.energy.buckets import BucketGrid, BucketRun
from wattgate.energy.storage_fields import MAX_DECIMALS
from wattgate.enums import Baseline, BucketQuality, Function, NoValueReason
from wattgate.errors import GatewayError
from wattgate.values import terms


@dataclass(frozen=True, slots=True)
class SeriesPart:
    """The aggregate of a series over one span, by its function. `value` is None if the span has no reading."""

    start: datetime
    end: datetime
    value: float | None
    count: int
    quality: BucketQuality
    completeness: float | None
    no_value_reason: NoValueReason | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A series up to its newest sample, and the same elapsed time of its baseline."""

    baseline: Baseline
    reading_series: ReadingSeries
    comparison_range: ComparisonRange
    current: SeriesPart
    previous: SeriesPart

    @property
    def includes_standing_charge(self) -> bool | None:
        return self.reading_series.includes_standing_charge

    @property
    def includes_vat(self) -> bool | None:
        return self.reading_series.includes_vat

    @property
    def baseline_is_shorter(self) -> bool:
        """Whether the baseline ends before the same elapsed time, so that all of it is compared."""
        return self.comparison_range.is_shorter

    @property
    def change(self) -> float | None:
        """The current value minus the baseline's value; None if one of them is unknown."""
        now, before = self.current.value, self.previous.value
        return None if now is None or before is None else round(now - before, MAX_DECIMALS)

    @property
    def change_ratio(self) -> float | None:
        """The change as a share of the baseline's value; None if that value is unknown or zero."""
        return self.change / abs(self.previous.value) if self.change is not None and self.previous.value else None


async def comparisons(
    rows: Rows, series: Sequence[ReadingSeries], *, baseline: terms.ComparedRange
) -> list[Comparison | None]:
    """Compare each series up to its newest sample with its baseline. None is the result of a series without samples."""
    ranges = [_comparison_range(reading_series, baseline) for reading_series in series]
    compared = [(one, range_) for one, range_ in zip(series, ranges, strict=True) if range_]
    parts_of_both = await _load_parts(
        rows,
        [
            *((one, range_.start, range_.until) for one, range_ in compared),
            *((one, range_.base_start, range_.base_until) for one, range_ in compared),
        ],
    )
    parts = iter(zip(parts_of_both[: len(compared)], parts_of_both[len(compared) :], strict=True))
    return [
        None if range_ is None else Comparison(baseline, reading_series, range_, *next(parts))
        for reading_series, range_ in zip(series, ranges, strict=True)
    ]


async def baseline_series(rows: Rows, compared: Sequence[Comparison]) -> list[ReadingSeries | GatewayError]:
    """Return the readings of each whole baseline, in the same buckets as the compared series."""

    async def load(comparison: Comparison) -> ReadingSeries | GatewayError:
        (series,) = await readings(
            rows,
            [comparison.reading_series.resource],
            consented_only=True,
            range=TimeRange(comparison.comparison_range.base_start, comparison.comparison_range.base_end),
            period=comparison.reading_series.period,
            function=comparison.reading_series.function,
            time_zone=comparison.reading_series.time_zone,
            field=comparison.reading_series.field,
            week_start=comparison.reading_series.week_start,
        )
        return series

    return await rows.collect(load(comparison) for comparison in compared)


def _comparison_range(series: ReadingSeries, baseline: Baseline) -> ComparisonRange | None:
    collected_to = series.collected_to
    if collected_to is None or collected_to <= series.start:
        return None
    end = series.end or open_range_end(series.start, series.effective_end, series.time_zone)
    return comparison_range(series.start, end, collected_to, baseline, series.time_zone)


async def _load_parts(rows: Rows, ranges: Sequence[tuple[ReadingSeries, datetime, datetime]]) -> list[SeriesPart]:
    """Aggregate each series over its own span. Series with equal spans and functions share their statements."""
    positions_by_range = defaultdict[tuple[datetime, datetime, Function], list[int]](list)
    for position, (reading_series, start, end) in enumerate(ranges):
        positions_by_range[start, end, reading_series.function].append(position)
    parts: dict[int, SeriesPart] = {}

    async def load(span: tuple[datetime, datetime, Function], positions: Sequence[int]) -> None:
        start, end, function = span
        grid = BucketGrid((BucketRun(to_ms(start), to_ms(end) - to_ms(start), 1),))
        series = [ranges[position][0] for position in positions]
        resources, fields = (
            [reading_series.resource for reading_series in series],
            [reading_series.reading_field for reading_series in series],
        )
        aggregates = _raise_first_error(await load_consented_aggregates(rows, resources, fields, grid))
        values = await load_values(rows, resources, fields, aggregates, function)
        for position, reading_series, bucket, (value,) in zip(positions, series, aggregates, values, strict=True):
            count = bucket.count[0]
            expected = reading_series.ownership.expected_samples(reading_series.reading_field, grid.start, grid.stop)
            quality = bucket_quality(count, expected, bucket.estimated[0])
            completeness = stored_share(count, expected)
            reason = bucket.no_value_reason(grid.edges, 0, 0)
            parts[position] = SeriesPart(start, end, value, count, quality, completeness, reason)

    await rows.collect(load(span, positions) for span, positions in positions_by_range.items())
    return [parts[position] for position in range(len(ranges))]


def _raise_first_error(results: Sequence[Aggregates | GatewayError]) -> list[Aggregates]:
    """Return the aggregates. Raise the first error, if there is one."""
    for result in results:
        if isinstance(result, GatewayError):
            raise result
    return [result for result in results if isinstance(result, Aggregates)]
