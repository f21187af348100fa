"""Readings of many resources in buckets: one result for each, a fixed number of statements for all."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import count

from wattgate.clock import TimeRange, from_ms, to_ms
from wattgate.db.models import Resource
from wattgate.db.queries import costs as cost_queries
from wattgate.db.queries.consent import either, withheld
from wattgate.db.queries.time_ranges import check_buckets, closed
from wattgate.db.readings.aggregates import Aggregates, SeriesKey
from wattgate.db.readings.reading_series import Incomplete, ReadingSeries
from wattgate.db.readings.series_keys import field_of, key_of
from wattgate.db.rows import Rows
from wattgate.energy import buckets
from wattgate.energy.buckets import Grid
from wattgate.energy.storage_fields import Field
from wattgate.enums import Function, Period, Weekday
from wattgate.errors import GatewayError

SETTLED = timedelta(minutes=1)
"""How long a write may be under way: what is received later than this before an answer may not be in it yet."""


async def readings(
    rows: Rows,
    resources: Sequence[Resource],
    *,
    range: TimeRange,
    period: Period,
    function: Function = Function.SUM,
    time_zone: tzinfo = UTC,
    field: str | None = None,
    week_start: Weekday = Weekday.MONDAY,
    revised_since: datetime | None = None,
) -> list[ReadingSeries | GatewayError]:
    """Each resource's readings in a range of time, in whole buckets of the zone's wall clock.

    With `revised_since` only those buckets in which something was received after it; totals stay those of all.
    """
    start, end = closed(range, rows.now)
    check_buckets(start, end, period)
    grid = buckets.grid(start, end, period, time_zone, week_start)
    fields = [field_of(resource, field) for resource in resources]
    found = await amounts(rows, resources, fields, grid)
    values = await values_of(rows, resources, fields, found, function)
    series = [
        inside
        if isinstance(inside, GatewayError)
        else ReadingSeries(
            resource=resource,
            storage=known,
            start=start,
            end=range.end,
            until=end,
            period=period,
            function=function,
            time_zone=time_zone,
            week_start=week_start,
            grid=grid,
            amounts=inside,
            values=some,
            since=None if revised_since is None else to_ms(revised_since),
            as_of=rows.now - SETTLED,
        )
        for resource, known, inside, some in zip(resources, fields, found, values, strict=True)
    ]
    return either(await withheld(rows, resources), resources, series)


async def amounts(
    rows: Rows, resources: Sequence[Resource], fields: Sequence[Field], grid: Grid
) -> list[Aggregates | GatewayError]:
    """What the readings of one field of each resource amount to in each bucket; costs are computed."""
    pairs = list(zip(resources, fields, strict=True))
    keys = {key_of(resource, known): known.interval_ms for resource, known in pairs if not resource.cost_of}
    stored = await rows.series.aggregates(keys, grid)
    costs = [(resource, known) for resource, known in pairs if resource.cost_of]
    computed = iter(await cost_queries.computed(rows, costs, grid) if costs else ())
    return [next(computed) if resource.cost_of else stored[key_of(resource, known)] for resource, known in pairs]


async def complete_to(rows: Rows, series: Sequence[ReadingSeries]) -> list[datetime | None]:
    """Up to when each series has every sample that was to be taken since its first bucket began.

    None where already the first one is missing, where none was to be taken, and where samples are taken at any time.
    """
    lacking = [one.first_incomplete() for one in series]
    pairs = list(zip(series, lacking, strict=True))
    begun = [(one, gap) for one, gap in pairs if gap and gap.begun]
    stored = {(*one.key, gap.start, gap.stop, gap.step) for one, gap in begun if one.amounts.samples is None}
    gaps = await rows.series.first_gaps(sorted(stored)) if stored else {}
    gaps |= {
        (*one.key, gap.start): next(at for at in count(gap.start, gap.step) if at not in one.amounts.samples)
        for one, gap in begun
        if one.amounts.samples is not None
    }
    return [_complete_to(one, gap, gaps) for one, gap in pairs]


def _complete_to(
    one: ReadingSeries, gap: Incomplete | None, gaps: Mapping[tuple[int, int, int], int]
) -> datetime | None:
    if gap is None:
        return from_ms(one.grid.stop) if any(one.expected or ()) else None
    if gap.begun:
        return from_ms(gaps[*one.key, gap.start])
    return from_ms(gap.start) if gap.complete_before else None


async def values_of(
    rows: Rows,
    resources: Sequence[Resource],
    fields: Sequence[Field],
    found: Sequence[Aggregates | GatewayError],
    function: Function,
) -> list[list[float | None]]:
    """The value of each bucket of each series by the function; None where the bucket is empty."""
    if function not in (Function.FIRST, Function.LAST):
        return [
            [] if isinstance(inside, GatewayError) else _value_of(inside, known, function)
            for inside, known in zip(found, fields, strict=True)
        ]
    places = [
        [] if isinstance(inside, GatewayError) else _places(key_of(resource, known), inside, function)
        for resource, known, inside in zip(resources, fields, found, strict=True)
    ]
    stored = await rows.series.values_at({place for some in places for place in some if place})
    for resource, known, inside in zip(resources, fields, found, strict=True):
        if isinstance(inside, Aggregates) and inside.samples is not None:
            stored |= {(*key_of(resource, known), at): value for at, value in inside.samples.items()}
    return [
        [None if place is None else known.number(stored[place]) for place in some]
        for known, some in zip(fields, places, strict=True)
    ]


def _places(key: SeriesKey, inside: Aggregates, function: Function) -> list[tuple[int, int, int] | None]:
    """Where the value of each bucket is stored: that of its first or of its last reading."""
    instants = inside.first_at if function is Function.FIRST else inside.last_at
    return [(*key, at) if count else None for count, at in zip(inside.count, instants, strict=True)]


def _value_of(inside: Aggregates, field: Field, function: Function) -> list[float | None]:
    scale = 10**field.decimals
    match function:
        case Function.COUNT:
            return [float(some) if some else None for some in inside.count]
        case Function.AVG:
            pairs = zip(inside.sum, inside.count, strict=True)
            return [total / scale / some if some else None for total, some in pairs]
        case _:
            column = {Function.SUM: inside.sum, Function.MIN: inside.min, Function.MAX: inside.max}[function]
            if all(inside.count):
                return [one / scale for one in column]
            return [one / scale if some else None for one, some in zip(column, inside.count, strict=True)]
