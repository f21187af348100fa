"""Cost weights and list sizes that fields declare, in the terms of the GraphQL cost directives.

One unit of cost is about the work to read one record and to write it into a response: 30 µs of processor time
(`UNIT_MICROSECONDS`). All other weights are in proportion to it. They come from the tables that
`python -m bench.prices` prints.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from math import ceil
from typing import Any

from wattgate.energy import buckets
from wattgate.energy.buckets import HOUR_MS
from wattgate.energy.costs.pricing import INCLUDED_READINGS_PER_DAY
from wattgate.energy.storage_fields import POWER_FIELD
from wattgate.enums import Period
from wattgate.operations.vocabulary.decoded_readings import DecodedReadings

UNIT_MICROSECONDS = 30
"""Processor time of one unit of cost, in µs."""

STATEMENT_WEIGHT = 30
"""Cost of a session and its statements.

It applies to each query, and to each edge at one position of a document, for all parents together.
"""

MUTATION_WEIGHT = 100
"""Cost of a mutation: a durable transaction and the work that follows from it."""

DELIVERY_WEIGHT = 50
"""Cost of the delivery of an event to one receiver: its rows, and the transactions of the worker that sends it."""

INCLUDED_DELIVERIES = 2
"""Number of deliveries of events that the cost of a mutation includes."""

SET_TARIFF_WEIGHT = 200
"""Cost of a tariff: a mutation that checks up to 50 bands in each half hour of the week."""

PASSWORD_HASH_WEIGHT = 1_000
"""Cost of an operation that checks or creates a password hash, which is slow by design."""

RENDER_WEIGHT = 20
"""Cost of the rendering of a small template. `render_units` has what a larger one costs above it."""

QR_CODE_WEIGHT = 250
"""Cost of the drawing of a QR code."""

TRIAL_WEIGHT = 160
"""Cost of the request of a link or an image of a mail: a connection with TLS and its answer."""

FRESHNESS_WEIGHT = 70
"""Cost of the freshness of a resource or a device: the time of its newest readings is looked up one by one."""

DISPLAY_WEIGHT = 600
"""Cost of all values of an in-home display: power, energy and cost of a day and a month, tariff, freshness."""

INTROSPECTION_WEIGHTS: Mapping[str, int] = {"__schema": 3_500, "__type": 20}
"""Cost of the whole schema, as tools request it, and of one type."""

DEFAULT_LIST_SIZE = 10
"""Assumed number of items in a list that declares no size."""

GROWING_LIST_SIZE = 100
"""Assumed number of items in a list that grows with the application and is returned whole. Its pages cost less."""

VALUES_PER_UNIT = 500
"""Number of values that cost one unit, in a list without objects, such as a column."""

SERIES_ITEMS_PER_UNIT = 10
"""Number of series items, such as buckets, that cost one unit. They are not read one by one."""

BULK_READINGS_PER_UNIT = 8
"""Number of readings of a bulk upload that cost one unit."""

EVALUATED_READINGS_PER_UNIT = 40
"""Number of readings that a back-test evaluates for one unit."""

PRICED_READINGS_PER_UNIT = 8
"""Number of readings for one unit whose cost is computed one by one, in a series of costs."""

ResultUnits = Callable[[Any], int]
"""The additional cost of a result, which only the stored data determine."""

RECORDED_HOURS_PER_UNIT = 4
"""Number of distinct hours of a series with new readings that cost one unit: their aggregates are computed again."""

_BUCKET_MICROSECONDS = {
    Period.PT1M: 8,
    Period.PT5M: 8,
    Period.PT15M: 8,
    Period.PT30M: 3,
    Period.PT1H: 6,
    Period.P1D: 35,
    Period.P1W: 80,
    Period.P1M: 200,
    Period.P3M: 500,
    Period.P1Y: 1_200,
}
"""Additional time to read a series, in µs for each bucket."""

_POWER_BUCKET_MICROSECONDS = {
    **_BUCKET_MICROSECONDS,
    Period.PT5M: 25,
    Period.PT15M: 70,
    Period.PT30M: 140,
}
"""Additional time for live power. It arrives every few seconds, and no rollup is shorter than an hour."""


@dataclass(frozen=True, slots=True)
class ArgumentMeasure:
    """A number computed from arguments. `compute` gets the current time and the argument values, None for absent ones.

    `compute` accepts any values and returns a number; the resolver rejects invalid ones. `depends_on_time` gets the
    values and returns whether the number changes with time. Without it, the number never changes with time. If the
    number is the value of one of the arguments, as `@listSize` can state it, `default` is the number without them.
    """

    slicing_arguments: tuple[str, ...]
    compute: Callable[..., int]
    depends_on_time: Callable[..., bool] | None = None
    default: int | None = None


Amount = int | ArgumentMeasure


@dataclass(frozen=True, slots=True)
class ListSize:
    """The number of items in a field's own list, or in lists below it that `sized_fields` names (Type.field or Type).

    A size for lists below applies up to the next field that declares one for them. `items_per_unit` items cost a unit.
    """

    assumed_size: Amount
    sized_fields: tuple[str, ...] = ()
    items_per_unit: int = 1


def render_units(seconds: float) -> int:
    """Return what work on a template costs above RENDER_WEIGHT, by its processor time."""
    return max(0, ceil(seconds * 1_000_000 / UNIT_MICROSECONDS) - RENDER_WEIGHT)


def linear_in_argument(
    argument: str, default: int, max_value: int, *, weight: int = 0, weight_per_one: int = 1
) -> ArgumentMeasure:
    """Measure an integer argument: `weight`, and `weight_per_one` for each unit of its value (1 to `max_value`)."""

    def compute(now: datetime, value: Any) -> int:
        return weight + weight_per_one * (min(max(value, 1), max_value) if isinstance(value, int) else default)

    return ArgumentMeasure((argument,), compute, default=default if (weight, weight_per_one) == (0, 1) else None)


def list_length(argument: str) -> ArgumentMeasure:
    """Measure the number of items in a list argument."""
    return ArgumentMeasure((argument,), lambda now, values: len(_list_items(values)))


def per_item(
    argument: str,
    member: str = "",
    *,
    max_items: int,
    weight: int = MUTATION_WEIGHT,
    item_weight: int = 1,
    items_per_unit: int = 1,
) -> ArgumentMeasure:
    """Measure a list argument: `weight`, and a share for its items.

    With `member`, count the items of that list in each item.
    """

    def compute(now: datetime, values: Any) -> int:
        lists = [_member(item, member) for item in _list_items(values)] if member else [values]
        return weight + min(sum(len(_list_items(items)) for items in lists), max_items) * item_weight // items_per_unit

    return ArgumentMeasure((argument,), compute)


def per_reading(*, max_items: int, readings_per_unit: int = 1) -> ArgumentMeasure:
    """Measure readings to record in the argument `series`: a share for each, and for each hour of a series.

    The instants are in `readings`, or, in columns, in `at`.
    """

    def compute(now: datetime, series: Any) -> int:
        columns = [_instants(entry) for entry in _list_items(series)]
        count = sum(map(len, columns))
        if count > max_items:  # the resolver rejects it
            return MUTATION_WEIGHT + max_items // readings_per_unit
        hours = sum(map(_count_hours, columns))
        return MUTATION_WEIGHT + count // readings_per_unit + hours // RECORDED_HOURS_PER_UNIT

    return ArgumentMeasure(("series",), compute)


def bucket_count(max_buckets: int) -> ArgumentMeasure:
    """Measure the number of buckets of a range. A series with more than `max_buckets` is rejected."""
    return ArgumentMeasure(
        ("range", "period"),
        lambda now, time_range, period: min(_count_buckets(now, time_range, period), max_buckets),
        _has_open_end,
    )


def per_bucket(weight: int, max_buckets: int) -> ArgumentMeasure:
    """Measure the cost to read a range into at most `max_buckets`: `weight`, and the time for each bucket."""

    def compute(now: datetime, time_range: Any, period: Any, field: Any) -> int:
        bucket_microseconds = _POWER_BUCKET_MICROSECONDS if field == POWER_FIELD else _BUCKET_MICROSECONDS
        count = min(_count_buckets(now, time_range, period), max_buckets)
        return weight + (count * bucket_microseconds[period] // UNIT_MICROSECONDS if isinstance(period, Period) else 0)

    return ArgumentMeasure(("range", "period", "field"), compute, _has_open_end)


def per_day(weight: int, day_weight: int, *, max_length: timedelta) -> ArgumentMeasure:
    """Measure the cost of a range: `weight`, and `day_weight` for each started day, up to `max_length`."""

    def compute(now: datetime, time_range: Any) -> int:
        return weight + day_weight * (min(_length(now, time_range), max_length) // timedelta(days=1) + 1)

    return ArgumentMeasure(("range",), compute, _has_open_end)


def cost_days(weight: int, *, max_length: timedelta) -> ArgumentMeasure:
    """Measure the computed costs of a range: `weight`, and the readings that the price of each started day includes."""
    return per_day(weight, INCLUDED_READINGS_PER_DAY // PRICED_READINGS_PER_UNIT, max_length=max_length)


def sample_count(interval: timedelta, max_samples: int) -> ArgumentMeasure:
    """Measure the number of samples in a range at this interval, at most `max_samples`."""
    return ArgumentMeasure(
        ("range",), lambda now, time_range: min(_length(now, time_range) // interval + 1, max_samples), _has_open_end
    )


def stored_reading_count(max_rows: int, *, weight: int = 0, rows_per_unit: int = 1) -> ArgumentMeasure:
    """Measure stored readings from `start` to `end`, assuming one every ten seconds: one unit for each `rows_per_unit`.

    `weight` is added to the result.
    """

    def compute(now: datetime, start: Any, end: Any) -> int:
        row_count = (
            max_rows if start is None else _length(now, {"start": start, "end": end}) // timedelta(seconds=10) + 1
        )
        return weight + min(row_count, max_rows) // rows_per_unit

    return ArgumentMeasure(("start", "end"), compute, lambda start, end: end is None)


def of_bounds(measure: ArgumentMeasure, *, plus: int = 0) -> ArgumentMeasure:
    """Return a measure of the argument `range` for an operation that takes `start` and `end` instead.

    `plus` is added to the result.
    """

    def compute(now: datetime, start: Any, end: Any) -> int:
        return plus + measure.compute(now, {"start": start, "end": end})

    return ArgumentMeasure(("start", "end"), compute)


def _has_open_end(time_range: Any, *others: Any) -> bool:
    return _member(time_range, "end") is None


def _bounds(now: datetime, time_range: Any) -> tuple[datetime, datetime]:
    """Return the start and end of a range, or `(now, now)` if the value is not a range."""
    start, end = _member(time_range, "start"), _member(time_range, "end") or now
    if not isinstance(start, datetime) or not isinstance(end, datetime):
        return now, now
    return start, max(start, end)


def _length(now: datetime, time_range: Any) -> timedelta:
    start, end = _bounds(now, time_range)
    return end - start


def _count_buckets(now: datetime, time_range: Any, period: Any) -> int:
    start, end = _bounds(now, time_range)
    return _cached_max_buckets(start, end, period) if isinstance(period, Period) and start < end else 1


_cached_max_buckets = lru_cache(maxsize=256)(buckets.max_bucket_count)
"""Cached because the weight of a series and the sizes of its lists request the same number one after another."""


def _member(value: Any, name: str) -> Any:
    """Return a member of an input object, which is either still a mapping or already an object."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _instants(series: Any) -> Sequence[Any]:
    """Return the instants of the readings of a series, in either form."""
    readings = _member(series, "readings")
    if isinstance(readings, DecodedReadings):
        return readings
    readings = _list_items(readings)
    return [_member(reading, "at") for reading in readings] or _list_items(_member(series, "at"))


def _count_hours(instants: Sequence[Any]) -> int:
    if isinstance(instants, DecodedReadings):
        return len(set((instants.at // HOUR_MS).tolist()))
    return len({_hour(instant) for instant in instants})


def _hour(instant: Any) -> int | None:
    return int(instant.timestamp()) // 3600 if isinstance(instant, datetime) else None


def _list_items(values: Any) -> Sequence[Any]:
    return values if isinstance(values, list | tuple) else ()
