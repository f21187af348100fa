"""Series compared with an earlier time, as far as they have come: "so far" means the same elapsed time."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from wattgate.clock import TimeRange, to_ms
from wattgate.db.queries.readings import load_aggregates, load_values, readings
from wattgate.db.readings.aggregates import Aggregates
from wattgate.db.readings.reading_series import ReadingSeries, bucket_quality
from wattgate.db.rows import Rows
from wattgate.energy.baselines import ComparisonRange, comparison_range, open_range_end
from wattgate.energy.buckets import BucketGrid, BucketRun
from wattgate.energy.storage_fields import MAX_DECIMALS
from wattgate.enums import Baseline, BucketQuality, Function
from wattgate.errors import GatewayError


@dataclass(frozen=True, slots=True)
class SeriesPart:
    """What a series amounts to over one span, by its function; `value` is None where it has no reading there."""

    start: datetime
    end: datetime
    value: float | None
    count: int
    quality: BucketQuality
    completeness: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A series as far as it has come, and the same elapsed time of its baseline."""

    baseline: Baseline
    reading_series: ReadingSeries
    comparison_range: ComparisonRange
    current: SeriesPart
    previous: SeriesPart

    @property
    def change(self) -> float | None:
        """By how much the value is greater; None where one of the two is not known."""
        now, before = self.current.value, self.previous.value
        return None if now is None or before is None else round(now - before, MAX_DECIMALS)

    @property
    def change_ratio(self) -> float | None:
        """The change as a share of the baseline's value; None where that is not known or zero."""
        return self.change / abs(self.previous.value) if self.change is not None and self.previous.value else None


async def comparisons(rows: Rows, series: Sequence[ReadingSeries], *, baseline: Baseline) -> list[Comparison | None]:
    """Each series compared with its baseline up to its newest sample; None where there is no sample yet."""
    spans = [_comparison_range(one, baseline) for one in series]
    current = await _load_parts(rows, [(one, at.start, at.until) for one, at in zip(series, spans, strict=True) if at])
    previous = await _load_parts(
        rows, [(one, at.base_start, at.base_until) for one, at in zip(series, spans, strict=True) if at]
    )
    found = iter(zip(current, previous, strict=True))
    return [
        None if at is None else Comparison(baseline, one, at, *next(found))
        for one, at in zip(series, spans, strict=True)
    ]


async def baseline_series(rows: Rows, compared: Sequence[Comparison]) -> list[ReadingSeries | GatewayError]:
    """The readings of each whole baseline, in the same buckets as what is compared with it."""
    return [
        (
            await readings(
                rows,
                [one.reading_series.resource],
                range=TimeRange(one.comparison_range.base_start, one.comparison_range.base_end),
                period=one.reading_series.period,
                function=one.reading_series.function,
                time_zone=one.reading_series.time_zone,
                field=one.reading_series.field,
                week_start=one.reading_series.week_start,
            )
        )[0]
        for one in compared
    ]


def _comparison_range(series: ReadingSeries, baseline: Baseline) -> ComparisonRange | None:
    reached = series.collected_to
    if reached is None or reached <= series.start:
        return None
    end = series.end or open_range_end(series.start, series.effective_end, series.time_zone)
    return comparison_range(series.start, end, reached, baseline, series.time_zone)


async def _load_parts(rows: Rows, ranges: Sequence[tuple[ReadingSeries, datetime, datetime]]) -> list[SeriesPart]:
    """What each series amounts to over a span of its own; alike ones share their statements."""
    together = defaultdict[tuple[datetime, datetime, Function], list[int]](list)
    for place, (one, start, end) in enumerate(ranges):
        together[start, end, one.function].append(place)
    parts: dict[int, SeriesPart] = {}
    for (start, end, function), places in together.items():
        grid = BucketGrid((BucketRun(to_ms(start), to_ms(end) - to_ms(start), 1),))
        some = [ranges[place][0] for place in places]
        resources, fields = [one.resource for one in some], [one.reading_field for one in some]
        found = _raise_first_error(await load_aggregates(rows, resources, fields, grid))
        values = await load_values(rows, resources, fields, found, function)
        for place, one, inside, (value,) in zip(places, some, found, values, strict=True):
            count, expected = inside.count[0], one.reading_field.expected_samples(grid.start, grid.stop)
            worth = bucket_quality(count, expected, inside.estimated[0])
            parts[place] = SeriesPart(start, end, value, count, worth, count / expected if expected else None)
    return [parts[place] for place in range(len(ranges))]


def _raise_first_error(results: Sequence[Aggregates | GatewayError]) -> list[Aggregates]:
    """What was found; the first refusal, if there is one, is raised."""
    for one in results:
        if isinstance(one, GatewayError):
            raise one
    return [one for one in results if isinstance(one, Aggregates)]
