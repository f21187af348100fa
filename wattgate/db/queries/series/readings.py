"""Readings of resources in buckets: one result for each resource, with a fixed number of statements."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from typing import Any

from wattgate.clock import from_ms, to_ms
from wattgate.db.meter_network import RegisterReading
from wattgate.db.models import Resource
from wattgate.db.queries.consent import find_consent_errors, replace_withheld
from wattgate.db.queries.ownership import load_ownerships
from wattgate.db.queries.series import costs as cost_queries
from wattgate.db.queries.tenancies import consent_gaps
from wattgate.db.readings.aggregates import Aggregates, SeriesKey
from wattgate.db.readings.reading_series import IncompleteBucket, ReadingSeries
from wattgate.db.readings.rollups import AGGREGATE_COLUMNS
from wattgate.db.readings.series_keys import require_field, series_key
from wattgate.db.rows.rows import Rows
from wattgate.energy import buckets
from wattgate.energy.buckets import BucketGrid, check_bucket_count, refine_grid, resolve_range
from wattgate.energy.consent_gaps import gaps_within
from wattgate.energy.functions import default_function, function_problem
from wattgate.energy.meters.meter_messages import REGISTER_FIELDS
from wattgate.energy.meters.registers import RegisterPoint, register_rise
from wattgate.energy.storage_fields import ReadingField, find_field, parse_fields
from wattgate.enums import Function, Weekday
from wattgate.errors import BadInput, GatewayError, Problem
from wattgate.values import terms

_COLUMNS = {Function.SUM: "sum", Function.MIN: "min", Function.MAX: "max"}

MAX_WRITE_DURATION = timedelta(minutes=1)
"""The maximum duration of a write. Readings received within this time before a response may be missing in it."""


async def readings(
    rows: Rows,
    resources: Sequence[Resource],
    values_only: bool = False,
    consented_only: bool = False,
    *,
    range: terms.BucketRange,
    period: terms.BucketLength,
    function: terms.ChosenFunction | None = None,
    time_zone: terms.BucketTimeZone = UTC,
    field: terms.ChosenField | None = None,
    week_start: terms.WeekStart = Weekday.MONDAY,
    revised_since: terms.RevisedSince | None = None,
) -> list[ReadingSeries | GatewayError]:
    """Return each resource's readings in a range of time, in whole buckets of the zone's wall clock.

    With `revised_since`, a series selects only the buckets that changed after it; totals cover all. With `values_only`,
    nobody reads quality and revisions. With `consented_only`, times without consent are left out.
    """
    start, end = resolve_range(range, rows.now)
    check_bucket_count(start, end, period)
    grid = buckets.build_grid(start, end, period, time_zone, week_start)
    fields, functions = _choose_fields(resources, field, function)
    load = load_consented_aggregates if consented_only else load_aggregates
    aggregates = await load(rows, resources, fields, grid, values_only=values_only and revised_since is None)
    values = await _load_values_by_function(rows, resources, fields, aggregates, functions)
    columns = zip(resources, fields, functions, aggregates, values, strict=True)
    ownerships = await load_ownerships(rows, resources)
    series = [
        amounts
        if isinstance(amounts, GatewayError)
        else ReadingSeries(
            resource=resource,
            ownership=ownerships[resource.resource_id],
            reading_field=reading_field,
            start=start,
            end=range.end,
            effective_end=end,
            period=period,
            function=chosen,
            time_zone=time_zone,
            week_start=week_start,
            grid=grid,
            aggregates=amounts,
            values=bucket_values,
            received_after=None if revised_since is None else to_ms(revised_since),
            as_of=rows.now - MAX_WRITE_DURATION,
        )
        for resource, reading_field, chosen, amounts, bucket_values in columns
    ]
    return replace_withheld(await find_consent_errors(rows, resources), resources, series)


async def value_readings(rows: Rows, resources: Sequence[Resource], **arguments: Any) -> list[Any]:
    """Return what `readings` returns, without the qualities and revisions of buckets."""
    return await readings(rows, resources, values_only=True, **arguments)


value_readings.__name__ = readings.__name__  # the access log has both as one way to read


async def load_aggregates(
    rows: Rows,
    resources: Sequence[Resource],
    fields: Sequence[ReadingField],
    grid: BucketGrid,
    *,
    values_only: bool = False,
) -> list[Aggregates | GatewayError]:
    """Aggregate one field of each resource in each bucket. The costs of resources with `cost_of` are computed."""
    pairs = list(zip(resources, fields, strict=True))
    keys = {series_key(resource, field): field.interval_ms for resource, field in pairs if not resource.cost_of}
    stored = await rows.readings.aggregates(keys, grid, values_only=values_only)
    costs = [(resource, field) for resource, field in pairs if resource.cost_of]
    computed = iter(await cost_queries.compute_cost_aggregates(rows, costs, grid) if costs else ())
    return [next(computed) if resource.cost_of else stored[series_key(resource, field)] for resource, field in pairs]


async def load_consented_aggregates(
    rows: Rows,
    resources: Sequence[Resource],
    fields: Sequence[ReadingField],
    grid: BucketGrid,
    *,
    values_only: bool = False,
) -> list[Aggregates | GatewayError]:
    """Aggregate as `load_aggregates` does, without the readings of times without consent.

    Alert rules, comparisons and forecasts use this. It costs nothing more if no such time is in the grid.
    """
    aggregates = await load_aggregates(rows, resources, fields, grid, values_only=values_only)
    gaps_by_id = await consent_gaps(rows, resources)

    async def without_gaps(position: int) -> Aggregates | GatewayError:
        resource, loaded = resources[position], aggregates[position]
        gaps = gaps_within(gaps_by_id.get(resource.resource_id, ()), grid.start, grid.stop)
        if not gaps or isinstance(loaded, GatewayError):
            return loaded
        refined = refine_grid(grid, gaps)
        (parts,) = await load_aggregates(rows, [resource], [fields[position]], refined)
        return parts if isinstance(parts, GatewayError) else _merge(parts, refined, grid, gaps)

    return await rows.collect(without_gaps(position) for position in range(len(resources)))


def _merge(parts: Aggregates, refined: BucketGrid, grid: BucketGrid, gaps: Sequence[tuple[int, int]]) -> Aggregates:
    """Return the aggregates of the buckets of a grid from those of a finer grid, without the buckets in gaps."""
    merged = Aggregates.empty(grid.count)
    merged.cost_basis, energy_count = parts.cost_basis, [0] * grid.count
    columns = [getattr(parts, name) for name in AGGREGATE_COLUMNS]
    located = zip(refined.starts, grid.positions_of(refined.starts), strict=True)
    positions = [None if _is_within(start, gaps) else position for start, position in located]
    for index, position in enumerate(positions):
        if position is not None:
            if parts.count[index]:
                merged.add(position, [column[index] for column in columns])
            if parts.energy_count:
                energy_count[position] += parts.energy_count[index]
    merged.energy_count = energy_count if parts.energy_count else ()
    if parts.exact is not None:
        merged.exact = parts.exact.merge(positions, grid.count)
        merged.sum = merged.exact.rounded
    if parts.samples is not None:
        merged.samples = {at: value for at, value in parts.samples.items() if not _is_within(at, gaps)}
    return merged


def _is_within(at: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= at < stop for start, stop in spans)


async def complete_to(rows: Rows, series: Sequence[ReadingSeries]) -> list[datetime | None]:
    """Return the instant up to which each series has all expected samples since the start of its first bucket.

    The result is None if the first sample is missing, if no sample is expected, or if sampling is irregular.
    """
    incomplete = [reading_series.first_incomplete() for reading_series in series]
    pairs = list(zip(series, incomplete, strict=True))
    started = [(reading_series, bucket) for reading_series, bucket in pairs if bucket and bucket.has_first_sample]
    stored = {
        (*reading_series.series_key, bucket.start, bucket.stop, bucket.step)
        for reading_series, bucket in started
        if reading_series.aggregates.samples is None
    }
    gaps = await rows.readings.first_gaps(sorted(stored)) if stored else {}
    gaps |= {
        (*reading_series.series_key, bucket.start): next(
            at for at in count(bucket.start, bucket.step) if at not in reading_series.aggregates.samples
        )
        for reading_series, bucket in started
        if reading_series.aggregates.samples is not None
    }
    return [_completeness_end(reading_series, bucket, gaps) for reading_series, bucket in pairs]


def _completeness_end(
    reading_series: ReadingSeries, gap: IncompleteBucket | None, gaps: Mapping[tuple[int, int, int], int]
) -> datetime | None:
    if gap is None:
        return from_ms(reading_series.grid.stop) if any(reading_series.expected or ()) else None
    if gap.has_first_sample:
        return from_ms(gaps[*reading_series.series_key, gap.start])
    return from_ms(gap.start) if gap.has_complete_predecessors else None


def _choose_fields(
    resources: Sequence[Resource], name: str | None, function: Function | None
) -> tuple[list[ReadingField], list[Function]]:
    """Return the field and the function of each resource. Raise BadInput if one has no such field or function."""
    fields = [require_field(resource, name) for resource in resources]
    return fields, [choose_function(field, function) for field in fields]


def choose_function(field: ReadingField, function: Function | None) -> Function:
    """Return the function, or the default one of a field. Raise BadInput if it has no meaning for the field."""
    if function is None:
        return default_function(field)
    if problem := function_problem(field, function):
        raise BadInput(f"Invalid function. {problem}.", problems=[Problem(("function",), problem)])
    return function


async def _load_values_by_function(
    rows: Rows,
    resources: Sequence[Resource],
    fields: Sequence[ReadingField],
    aggregates: Sequence[Aggregates | GatewayError],
    functions: Sequence[Function],
) -> list[list[float | None]]:
    """Return the value of each bucket of each series by its own function."""
    if len(set(functions)) == 1:
        return await load_values(rows, resources, fields, aggregates, functions[0])
    values: list[list[float | None]] = [[] for _ in resources]
    for function in dict.fromkeys(functions):
        positions = [position for position, each in enumerate(functions) if each is function]
        loaded = await load_values(
            rows,
            [resources[position] for position in positions],
            [fields[position] for position in positions],
            [aggregates[position] for position in positions],
            function,
        )
        for position, of_series in zip(positions, loaded, strict=True):
            values[position] = of_series
    return values


async def load_values(
    rows: Rows,
    resources: Sequence[Resource],
    fields: Sequence[ReadingField],
    aggregates: Sequence[Aggregates | GatewayError],
    function: Function,
) -> list[list[float | None]]:
    """Return the value of each bucket of each series by the function; None for an empty bucket."""
    if function is Function.DIFFERENCE:
        return await _load_differences(rows, resources, fields, aggregates)
    if function not in (Function.FIRST, Function.LAST):
        return [
            [] if isinstance(amounts, GatewayError) else _compute_values(amounts, field, function)
            for amounts, field in zip(aggregates, fields, strict=True)
        ]
    points_by_series = [
        [] if isinstance(amounts, GatewayError) else _value_points(series_key(resource, field), amounts, function)
        for resource, field, amounts in zip(resources, fields, aggregates, strict=True)
    ]
    stored_values = await rows.readings.values_at({point for points in points_by_series for point in points if point})
    for resource, field, amounts in zip(resources, fields, aggregates, strict=True):
        if isinstance(amounts, Aggregates) and amounts.samples is not None:
            stored_values |= {(*series_key(resource, field), at): value for at, value in amounts.samples.items()}
    return [
        [None if point is None else field.from_stored(stored_values[point]) for point in points]
        for field, points in zip(fields, points_by_series, strict=True)
    ]


async def _load_differences(
    rows: Rows,
    resources: Sequence[Resource],
    fields: Sequence[ReadingField],
    aggregates: Sequence[Aggregates | GatewayError],
) -> list[list[float | None]]:
    """Return the rise of each register in each bucket, since the last reading of the bucket before it."""
    first, last = [
        await load_values(rows, resources, fields, aggregates, function) for function in (Function.FIRST, Function.LAST)
    ]
    return [
        [] if isinstance(amounts, GatewayError) else _differences(amounts, field, starts, ends)
        for amounts, field, starts, ends in zip(aggregates, fields, first, last, strict=True)
    ]


def _differences(
    amounts: Aggregates, field: ReadingField, first: Sequence[float | None], last: Sequence[float | None]
) -> list[float | None]:
    scale, before, differences = 10**field.decimals, None, list[float | None]()
    for first_at, last_at, start, end in zip(amounts.first_at, amounts.last_at, first, last, strict=True):
        if start is None or end is None:
            differences.append(None)
            continue
        base = before or RegisterPoint(first_at, round(start * scale))
        before = RegisterPoint(last_at, round(end * scale))
        rise = register_rise(base, before, field.decimals)
        differences.append(None if rise is None else field.from_stored(rise))
    return differences


def _value_points(key: SeriesKey, amounts: Aggregates, function: Function) -> list[tuple[int, int, int] | None]:
    """Return the key and instant of the first or last reading of each bucket."""
    instants = amounts.first_at if function is Function.FIRST else amounts.last_at
    return [(*key, at) if count else None for count, at in zip(amounts.count, instants, strict=True)]


def _compute_values(amounts: Aggregates, field: ReadingField, function: Function) -> list[float | None]:
    scale = 10**field.decimals
    match function:
        case Function.COUNT:
            return [float(count) if count else None for count in amounts.count]
        case Function.AVG:
            pairs = zip(amounts.sum, amounts.count, strict=True)
            return [total / scale / count if count else None for total, count in pairs]
        case _:
            return [*amounts.scaled_values(_COLUMNS[function], scale)]


async def newest_register(rows: Rows, resource: Resource) -> RegisterReading | None:
    """Return the newest stored register of a resource; None if no display sent one.

    Of several registers, it is always that of the first of REGISTER_FIELDS, so that its unit stays: a message without
    one of them would change the unit of the number.
    """
    storage_fields = parse_fields(resource.storage)
    fields = [field for name in REGISTER_FIELDS if (field := find_field(storage_fields, name))]
    keys = [series_key(resource, field) for field in fields]
    latest = await rows.readings.latest(keys, until=to_ms(rows.now)) if keys else {}
    stored = [(reading, field) for field in fields if (reading := latest.get(series_key(resource, field)))]
    if not stored:
        return None
    reading, field = stored[0]
    return RegisterReading(from_ms(reading.at), Decimal(reading.value).scaleb(-field.decimals), field.unit)
