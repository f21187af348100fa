"""Set-wise loaders from resources: one result for each parent, one statement for all."""

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

import msgspec

from wattgate.clock import from_ms, to_ms
from wattgate.db import buckets
from wattgate.db.models import Resource, ResourceType
from wattgate.db.queries.consent import either, withheld
from wattgate.db.rows import Rows
from wattgate.db.series import Aggregate, Stored
from wattgate.db.storage import Field, field_named, fields_of
from wattgate.errors import BadInput, Problem
from wattgate.names import Function, Period

MAX_BUCKETS = 20_000

POWER_FIELD = "POWER"
POWER_AGE_MS = 15 * 60 * 1000
"""A power reading older than this is no longer what is drawn now."""


class CurrentReading(msgspec.Struct, gc=False):
    """The newest value of a resource and what it measures."""

    resource_id: str
    field: str
    unit: str
    at: datetime
    value: float


class Bucket(msgspec.Struct, gc=False):
    """One span of a series. `value` is None, and `count` 0, where no reading is stored for the span."""

    start: datetime
    end: datetime
    value: float | None
    count: int


class ReadingSeries(msgspec.Struct, gc=False):
    """The readings of one field of a resource, in buckets; `resource` is the row it was asked of."""

    resource: Resource
    field: str
    unit: str
    period: Period
    function: Function
    buckets: list[Bucket]


async def types(rows: Rows, resources: Sequence[Resource]) -> list[ResourceType]:
    """The type of each resource."""
    found = await rows.many(ResourceType, (resource.resource_type_id for resource in resources))
    return [found[resource.resource_type_id] for resource in resources]


async def current(rows: Rows, resources: Sequence[Resource]) -> list[CurrentReading | None]:
    """The newest reading of each resource: its power where that is fresh, else its first field's latest value."""
    fields = [fields_of(resource.storage) for resource in resources]
    wanted = [
        (_number(resource), field.index)
        for resource, known in zip(resources, fields, strict=True)
        for field in _shown_now(known)
    ]
    found = await rows.series.latest(wanted)
    fresh = to_ms(rows.now) - POWER_AGE_MS
    newest = [_newest(resource, known, found, fresh) for resource, known in zip(resources, fields, strict=True)]
    return either(await withheld(rows, resources), resources, newest)


async def first_times(rows: Rows, resources: Sequence[Resource]) -> list[datetime | None]:
    """The time of the first available reading of each resource's first field."""
    return _times(resources, await rows.series.earliest([(_number(resource), 0) for resource in resources]))


async def last_times(rows: Rows, resources: Sequence[Resource]) -> list[datetime | None]:
    """The time of the most recent reading of each resource's first field."""
    return _times(resources, await rows.series.latest([(_number(resource), 0) for resource in resources]))


async def readings(
    rows: Rows,
    resources: Sequence[Resource],
    *,
    start: datetime,
    end: datetime,
    period: Period,
    function: Function = Function.SUM,
    time_zone: tzinfo = UTC,
    field: str | None = None,
) -> list[ReadingSeries]:
    """Each resource's readings from `start` to before `end`, in whole buckets of the zone's wall clock."""
    fields = [_field(resource, field) for resource in resources]
    edges = _edges(start, end, period, time_zone)
    keys = [(_number(resource), known.index) for resource, known in zip(resources, fields, strict=True)]
    found = await rows.series.buckets(keys, [to_ms(edge) for edge in edges])
    series = [
        ReadingSeries(
            resource=resource,
            field=known.name,
            unit=known.unit,
            period=period,
            function=function,
            buckets=_buckets(edges, found[key], known, function),
        )
        for resource, known, key in zip(resources, fields, keys, strict=True)
    ]
    return either(await withheld(rows, resources), resources, series)


def _edges(start: datetime, end: datetime, period: Period, zone: tzinfo) -> list[datetime]:
    if end <= start:
        problem = Problem(("end",), "is not after the start")
        raise BadInput("the range is empty: its end is not after its start", problems=[problem])
    if buckets.at_most(start, end, period) > MAX_BUCKETS:
        problem = Problem(("period",), f"gives more than {MAX_BUCKETS} buckets")
        raise BadInput(
            f"that are more than {MAX_BUCKETS} buckets: ask a shorter range or a longer period",
            problems=[problem],
        )
    return buckets.edges(start, end, period, zone)


def _buckets(edges: list[datetime], found: dict[int, Aggregate], field: Field, function: Function) -> list[Bucket]:
    made = []
    for position in range(len(edges) - 1):
        inside = found.get(position)
        value = None if inside is None else _value(inside, field, function)
        made.append(Bucket(edges[position], edges[position + 1], value, inside.count if inside else 0))
    return made


def _value(inside: Aggregate, field: Field, function: Function) -> float:
    match function:
        case Function.SUM:
            return field.number(inside.sum)
        case Function.AVG:
            return field.number(inside.sum) / inside.count
        case Function.MIN:
            return field.number(inside.min)
        case Function.MAX:
            return field.number(inside.max)


def _field(resource: Resource, name: str | None) -> Field:
    known = fields_of(resource.storage)
    field = field_named(known, name)
    if field is None:
        names = ", ".join(field.name for field in known)
        raise BadInput(
            f"resource {resource.resource_id} has no field {name}; it has {names}",
            problems=[Problem(("field",), "is not a field of the resource")],
        )
    return field


def _shown_now(fields: tuple[Field, ...]) -> list[Field]:
    power = field_named(fields, POWER_FIELD)
    return [power, fields[0]] if power else [fields[0]]


def _newest(
    resource: Resource, fields: tuple[Field, ...], found: dict[tuple[int, int], Stored], fresh: int
) -> CurrentReading | None:
    for field in _shown_now(fields):
        stored = found.get((_number(resource), field.index))
        if stored and (field.name != POWER_FIELD or stored.at >= fresh):
            return CurrentReading(
                resource_id=resource.resource_id,
                field=field.name,
                unit=field.unit,
                at=from_ms(stored.at),
                value=field.number(stored.value),
            )
    return None


def _times(resources: Sequence[Resource], found: dict[tuple[int, int], Stored]) -> list[datetime | None]:
    stored = [found.get((_number(resource), 0)) for resource in resources]
    return [None if one is None else from_ms(one.at) for one in stored]


def _number(resource: Resource) -> int:
    assert resource.number is not None  # set by the database when the resource was added
    return resource.number
