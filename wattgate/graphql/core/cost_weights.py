"""What is declared of cost beside edges and operations, in the words of the cost directives: weights and list sizes.

A unit is about the work of reading one record and telling it, 30 µs of a processor (`UNIT`). All other weights are in
proportion to it, from the tables that `python -m bench.prices` prints.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from wattgate.energy import buckets
from wattgate.energy.storage_fields import POWER_FIELD
from wattgate.enums import Period

UNIT_MICROSECONDS = 30
"""µs of a processor that a unit stands for."""

STATEMENT_WEIGHT = 30
"""Of a session and its statements: of a query, and of an edge at one place of a document, for all parents together."""

MUTATION_WEIGHT = 100
"""Of a mutation: a transaction that is written durably, and what hangs on it."""

PASSWORD_HASH_WEIGHT = 1_000
"""Of an operation that takes or makes the digest of a password, which is slow by design."""

FRESHNESS_WEIGHT = 70
"""Of how fresh a resource or a device is: when its newest readings came is looked at one by one."""

DISPLAY_WEIGHT = 600
"""Of all that an in-home display draws: power, energy and cost of a day and a month, tariff, freshness."""

INTROSPECTION_WEIGHTS: Mapping[str, int] = {"__schema": 3_500, "__type": 20}
"""Of the schema, as tools ask for it, and of one type of it."""

DEFAULT_LIST_SIZE = 10
"""Items of a list of which nothing else is declared."""

GROWING_LIST_SIZE = 100
"""Items of a list that grows with an application, where it is told whole; pages of it cost less."""

VALUES_PER_UNIT = 500
"""How many values of a list without objects, such as a column, cost a unit."""

SERIES_ITEMS_PER_UNIT = 10
"""How many items of a series cost a unit, such as buckets: they are not read one by one."""

_BUCKET_MICROSECONDS = {
    Period.PT1M: 8,
    Period.PT30M: 3,
    Period.PT1H: 6,
    Period.P1D: 35,
    Period.P1W: 80,
    Period.P1M: 200,
    Period.P1Y: 1_200,
}
"""µs by which a series becomes longer to read with each bucket."""

_POWER_BUCKET_MICROSECONDS = {**_BUCKET_MICROSECONDS, Period.PT30M: 140}
"""The same of live power: it comes every few seconds, and no rollup is shorter than an hour."""


@dataclass(frozen=True, slots=True)
class ArgumentMeasure:
    """A number that arguments tell: `of` gets the present instant and their values, None where there is none.

    It answers for whatever it is given: what cannot be is for the resolver to refuse. `moves` says of the values
    whether the number changes with time; without it, it never does.
    """

    slicing_arguments: tuple[str, ...]
    compute: Callable[..., int]
    depends_on_time: Callable[..., bool] | None = None


Amount = int | ArgumentMeasure


@dataclass(frozen=True, slots=True)
class ListSize:
    """How many items a field's own list has, or those below it that `sized_fields` names, as Type.field or Type.

    Below means up to the next field that says it of them. `per_unit` items cost a unit.
    """

    assumed_size: Amount
    sized_fields: tuple[str, ...] = ()
    items_per_unit: int = 1


def linear_in_argument(
    argument: str, default: int, max_value: int, *, weight: int = 0, weight_per_one: int = 1
) -> ArgumentMeasure:
    """A weight, and one for each of a number that an argument is, 1 to the most."""

    def compute(now: datetime, value: Any) -> int:
        return weight + weight_per_one * (min(max(value, 1), max_value) if isinstance(value, int) else default)

    return ArgumentMeasure((argument,), compute)


def list_length(argument: str) -> ArgumentMeasure:
    """How many items a list among the arguments has."""
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
    """A weight, and one for each item, or each so many, of a list among the arguments, or of the lists in a member."""

    def compute(now: datetime, values: Any) -> int:
        lists = [_member(item, member) for item in _list_items(values)] if member else [values]
        return weight + min(sum(len(_list_items(items)) for items in lists), max_items) * item_weight // items_per_unit

    return ArgumentMeasure((argument,), compute)


def bucket_count(max_buckets: int) -> ArgumentMeasure:
    """How many buckets a range may have; a series that has more than so many is not told."""
    return ArgumentMeasure(
        ("range", "period"),
        lambda now, time_range, period: min(_count_buckets(now, time_range, period), max_buckets),
        _has_open_end,
    )


def per_bucket(weight: int, max_buckets: int) -> ArgumentMeasure:
    """What readings cost that are read into buckets, up to so many of them."""

    def compute(now: datetime, time_range: Any, period: Any, field: Any) -> int:
        bucket_microseconds = _POWER_BUCKET_MICROSECONDS if field == POWER_FIELD else _BUCKET_MICROSECONDS
        count = min(_count_buckets(now, time_range, period), max_buckets)
        return weight + (count * bucket_microseconds[period] // UNIT_MICROSECONDS if isinstance(period, Period) else 0)

    return ArgumentMeasure(("range", "period", "field"), compute, _has_open_end)


def per_day(weight: int, day_weight: int, *, max_length: timedelta) -> ArgumentMeasure:
    """What costs so much for each day of a range, up to a length of it."""

    def compute(now: datetime, time_range: Any) -> int:
        return weight + day_weight * (min(_length(now, time_range), max_length) // timedelta(days=1) + 1)

    return ArgumentMeasure(("range",), compute, _has_open_end)


def sample_count(interval: timedelta, max_samples: int) -> ArgumentMeasure:
    """How many samples a range may have that are so far apart, up to so many of them."""
    return ArgumentMeasure(
        ("range",), lambda now, time_range: min(_length(now, time_range) // interval + 1, max_samples), _has_open_end
    )


def stored_reading_count(max_rows: int, *, weight: int = 0, rows_per_unit: int = 1) -> ArgumentMeasure:
    """A weight, and a unit for so many stored readings from `start` to `end`, as if they came every ten seconds."""

    def compute(now: datetime, start: Any, end: Any) -> int:
        row_count = (
            max_rows if start is None else _length(now, {"start": start, "end": end}) // timedelta(seconds=10) + 1
        )
        return weight + min(row_count, max_rows) // rows_per_unit

    return ArgumentMeasure(("start", "end"), compute, lambda start, end: end is None)


def _has_open_end(time_range: Any, *others: Any) -> bool:
    return _member(time_range, "end") is None


def _bounds(now: datetime, time_range: Any) -> tuple[datetime, datetime]:
    """Where a range begins and ends; now, where it is none."""
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
"""The weight of a series and the sizes of its lists ask for the same number, one after another."""


def _member(value: Any, name: str) -> Any:
    """A member of an input object, whether it is a mapping still or an object already."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _list_items(values: Any) -> Sequence[Any]:
    return values if isinstance(values, list | tuple) else ()
