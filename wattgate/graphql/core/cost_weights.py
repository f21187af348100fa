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

UNIT = 30
"""µs of a processor that a unit stands for."""

STATEMENTS = 30
"""Of a session and its statements: of a query, and of an edge at one place of a document, for all parents together."""

MUTATION = 100
"""Of a mutation: a transaction that is written durably, and what hangs on it."""

HASHING = 1_000
"""Of an operation that takes or makes the digest of a password, which is slow by design."""

FRESHNESS = 70
"""Of how fresh a resource or a device is: when its newest readings came is looked at one by one."""

DISPLAY = 600
"""Of all that an in-home display draws: power, energy and cost of a day and a month, tariff, freshness."""

INTROSPECTION: Mapping[str, int] = {"__schema": 3_500, "__type": 20}
"""Of the schema, as tools ask for it, and of one type of it."""

ASSUMED_SIZE = 10
"""Items of a list of which nothing else is declared."""

GROWING = 100
"""Items of a list that grows with an application, where it is told whole; pages of it cost less."""

VALUES = 500
"""How many values of a list without objects, such as a column, cost a unit."""

IN_SERIES = 10
"""How many items of a series cost a unit, such as buckets: they are not read one by one."""

_OF_BUCKET = {
    Period.PT1M: 8,
    Period.PT30M: 3,
    Period.PT1H: 6,
    Period.P1D: 35,
    Period.P1W: 80,
    Period.P1M: 200,
    Period.P1Y: 1_200,
}
"""µs by which a series becomes longer to read with each bucket."""

_OF_POWER = {**_OF_BUCKET, Period.PT30M: 140}
"""The same of live power: it comes every few seconds, and no rollup is shorter than an hour."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that arguments tell: `of` gets the present instant and their values, None where there is none.

    It answers for whatever it is given: what cannot be is for the resolver to refuse. `moves` says of the values
    whether the number changes with time; without it, it never does.
    """

    slicing_arguments: tuple[str, ...]
    of: Callable[..., int]
    moves: Callable[..., bool] | None = None


Amount = int | Measure


@dataclass(frozen=True, slots=True)
class Size:
    """How many items a field's own list has, or those below it that `sized_fields` names, as Type.field or Type.

    Below means up to the next field that says it of them. `per_unit` items cost a unit.
    """

    assumed: Amount
    sized_fields: tuple[str, ...] = ()
    per_unit: int = 1


def number(argument: str, default: int, most: int, *, weight: int = 0, of_one: int = 1) -> Measure:
    """A weight, and one for each of a number that an argument is, 1 to the most."""

    def of(now: datetime, value: Any) -> int:
        return weight + of_one * (min(max(value, 1), most) if isinstance(value, int) else default)

    return Measure((argument,), of)


def count_of(argument: str) -> Measure:
    """How many items a list among the arguments has."""
    return Measure((argument,), lambda now, values: len(_items(values)))


def per_item(
    argument: str, member: str = "", *, most: int, weight: int = MUTATION, of_item: int = 1, per_unit: int = 1
) -> Measure:
    """A weight, and one for each item, or each so many, of a list among the arguments, or of the lists in a member."""

    def of(now: datetime, values: Any) -> int:
        lists = [_member(one, member) for one in _items(values)] if member else [values]
        return weight + min(sum(len(_items(one)) for one in lists), most) * of_item // per_unit

    return Measure((argument,), of)


def bucket_count(most: int) -> Measure:
    """How many buckets a range may have; a series that has more than so many is not told."""
    return Measure(("range", "period"), lambda now, span, period: min(_buckets(now, span, period), most), _is_open)


def per_bucket(weight: int, most: int) -> Measure:
    """What readings cost that are read into buckets, up to so many of them."""

    def of(now: datetime, span: Any, period: Any, field: Any) -> int:
        of_one = _OF_POWER if field == POWER_FIELD else _OF_BUCKET
        count = min(_buckets(now, span, period), most)
        return weight + (count * of_one[period] // UNIT if isinstance(period, Period) else 0)

    return Measure(("range", "period", "field"), of, _is_open)


def per_day(weight: int, of_day: int, *, most: timedelta) -> Measure:
    """What costs so much for each day of a range, up to a length of it."""

    def of(now: datetime, span: Any) -> int:
        return weight + of_day * (min(_length(now, span), most) // timedelta(days=1) + 1)

    return Measure(("range",), of, _is_open)


def samples(every: timedelta, most: int) -> Measure:
    """How many samples a range may have that are so far apart, up to so many of them."""
    return Measure(("range",), lambda now, span: min(_length(now, span) // every + 1, most), _is_open)


def rows(most: int, *, weight: int = 0, per_unit: int = 1) -> Measure:
    """A weight, and a unit for so many stored readings from `start` to `end`, as if they came every ten seconds."""

    def of(now: datetime, start: Any, end: Any) -> int:
        known = most if start is None else _length(now, {"start": start, "end": end}) // timedelta(seconds=10) + 1
        return weight + min(known, most) // per_unit

    return Measure(("start", "end"), of, lambda start, end: end is None)


def _is_open(span: Any, *others: Any) -> bool:
    return _member(span, "end") is None


def _ends(now: datetime, span: Any) -> tuple[datetime, datetime]:
    """Where a range begins and ends; now, where it is none."""
    start, end = _member(span, "start"), _member(span, "end") or now
    if not isinstance(start, datetime) or not isinstance(end, datetime):
        return now, now
    return start, max(start, end)


def _length(now: datetime, span: Any) -> timedelta:
    start, end = _ends(now, span)
    return end - start


def _buckets(now: datetime, span: Any, period: Any) -> int:
    start, end = _ends(now, span)
    return _at_most(start, end, period) if isinstance(period, Period) and start < end else 1


_at_most = lru_cache(maxsize=256)(buckets.at_most)
"""The weight of a series and the sizes of its lists ask for the same number, one after another."""


def _member(value: Any, name: str) -> Any:
    """A member of an input object, whether it is a mapping still or an object already."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _items(values: Any) -> Sequence[Any]:
    return values if isinstance(values, list | tuple) else ()
