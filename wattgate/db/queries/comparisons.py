"""Series compared with an earlier time, as far as they have come: "so far" means the same elapsed time."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from wattgate.clock import TimeRange, to_ms
from wattgate.db.queries.readings import amounts, readings, values_of
from wattgate.db.readings.aggregates import Aggregates
from wattgate.db.readings.reading_series import ReadingSeries, quality
from wattgate.db.rows import Rows
from wattgate.energy.baselines import Compared, closes, compared
from wattgate.energy.buckets import Grid, Run
from wattgate.energy.storage_fields import MAX_DECIMALS
from wattgate.enums import Baseline, BucketQuality, Function
from wattgate.errors import GatewayError


@dataclass(frozen=True, slots=True)
class Part:
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
    of: ReadingSeries
    spans: Compared
    current: Part
    previous: Part

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
    spans = [_spans(one, baseline) for one in series]
    current = await _parts(rows, [(one, at.start, at.until) for one, at in zip(series, spans, strict=True) if at])
    previous = await _parts(
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
                [one.of.resource],
                range=TimeRange(one.spans.base_start, one.spans.base_end),
                period=one.of.period,
                function=one.of.function,
                time_zone=one.of.time_zone,
                field=one.of.field,
                week_start=one.of.week_start,
            )
        )[0]
        for one in compared
    ]


def _spans(series: ReadingSeries, baseline: Baseline) -> Compared | None:
    reached = series.collected_to
    if reached is None or reached <= series.start:
        return None
    end = series.end or closes(series.start, series.until, series.time_zone)
    return compared(series.start, end, reached, baseline, series.time_zone)


async def _parts(rows: Rows, wanted: Sequence[tuple[ReadingSeries, datetime, datetime]]) -> list[Part]:
    """What each series amounts to over a span of its own; alike ones share their statements."""
    together = defaultdict[tuple[datetime, datetime, Function], list[int]](list)
    for place, (one, start, end) in enumerate(wanted):
        together[start, end, one.function].append(place)
    parts: dict[int, Part] = {}
    for (start, end, function), places in together.items():
        grid = Grid((Run(to_ms(start), to_ms(end) - to_ms(start), 1),))
        some = [wanted[place][0] for place in places]
        resources, fields = [one.resource for one in some], [one.storage for one in some]
        found = _all(await amounts(rows, resources, fields, grid))
        values = await values_of(rows, resources, fields, found, function)
        for place, one, inside, (value,) in zip(places, some, found, values, strict=True):
            count, expected = inside.count[0], one.storage.expected(grid.start, grid.stop)
            worth = quality(count, expected, inside.estimated[0])
            parts[place] = Part(start, end, value, count, worth, count / expected if expected else None)
    return [parts[place] for place in range(len(wanted))]


def _all(found: Sequence[Aggregates | GatewayError]) -> list[Aggregates]:
    """What was found; the first refusal, if there is one, is raised."""
    for one in found:
        if isinstance(one, GatewayError):
            raise one
    return [one for one in found if isinstance(one, Aggregates)]
