"""Readings: asked for, recorded, and watched live."""

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

import strawberry

from wattgate.clock import from_ms, to_ms
from wattgate.db import models
from wattgate.db.queries import resources as queries
from wattgate.db.storage import Field, Refused, field_named, fields_of
from wattgate.errors import BadInput, ConsentRevoked, Problem
from wattgate.graphql.operation import Call, Kind, Rest, operation
from wattgate.graphql.types import resources as types
from wattgate.names import Function, Period
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.events import Event, LiveReading

MAX_READINGS = 10_000


@dataclass(frozen=True, slots=True)
class Recorded:
    recorded: int


@operation(
    Kind.QUERY,
    returns=types.ReadingSeries,
    needs=Permission.READINGS_READ,
    rest=Rest("GET", "/resource/{resourceId}/readings"),
)
async def readings(
    call: Call,
    *,
    resource_id: strawberry.ID,
    start: datetime,
    end: datetime,
    period: Period,
    function: Function = Function.SUM,
    time_zone: tzinfo = UTC,
    field: str | None = None,
) -> queries.ReadingSeries:
    """A resource's readings from start to before end, in buckets of the zone's wall clock."""
    found = await queries.readings(
        call.rows,
        [await call.rows.get(models.Resource, resource_id)],
        start=start,
        end=end,
        period=period,
        function=function,
        time_zone=time_zone,
        field=field,
    )
    if isinstance(found[0], ConsentRevoked):
        raise found[0]
    return found[0]


@operation(
    Kind.MUTATION,
    returns=types.Recorded,
    needs=Permission.READINGS_WRITE,
    rest=Rest("POST", "/resource/{resourceId}/readings"),
)
async def record_readings(call: Call, *, series: list[types.NewReadings]) -> Recorded:
    """Store readings, at most 10,000 a call, of any of the caller's resources; known ones are replaced.

    All are stored or none: a reading that its storage definition does not allow refuses the call, and the
    problems name every such reading.
    """
    count = sum(len(one.readings) for one in series)
    if count > MAX_READINGS:
        problem = Problem(("series",), f"holds {count} readings")
        raise BadInput(f"a call takes at most {MAX_READINGS:,} readings", problems=[problem])
    known = await call.rows.many(models.Resource, {one.resource_id for one in series})
    batch = _Batch(to_ms(call.rows.now))
    for position, one in enumerate(series):
        batch.take(position, one, known.get(one.resource_id))
    if batch.problems:
        message = f"{len(batch.problems):,} readings are refused, so none is stored"
        raise BadInput(message, problems=batch.problems)
    if batch.values:
        await call.rows.series.record([(*key, value) for key, value in batch.values.items()])
    for event in batch.events:
        call.emit(event)
    return Recorded(len(batch.values))


class _Batch:
    """Readings on their way in: what is good, what is refused, and what is told to those who watch."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self.values: dict[tuple[int, int, int], int] = {}
        self.problems: list[Problem] = []
        self.events: list[Event] = []

    def take(self, position: int, given: types.NewReadings, resource: models.Resource | None) -> None:
        path = ("series", position)
        if resource is None or resource.number is None:
            self.problems.append(Problem((*path, "resourceId"), f"{given.resource_id} does not exist"))
            return
        if resource.cost_of:
            reason = "is computed from its consumption; record that"
            self.problems.append(Problem((*path, "resourceId"), reason))
            return
        field = field_named(fields_of(resource.storage), given.field)
        if field is None:
            self.problems.append(Problem((*path, "field"), f"the resource has no field {given.field}"))
            return
        for index, reading in enumerate(given.readings):
            try:
                self._add(resource, resource.number, field, reading)
            except Refused as refused:
                self.problems.append(Problem((*path, "readings", index), str(refused)))

    def _add(self, resource: models.Resource, number: int, field: Field, reading: types.NewReading) -> None:
        at, value = field.stamp(reading.at, self._now_ms), field.scaled(reading.value)
        key = (number, field.index, at)
        if self.values.setdefault(key, value) != value:
            raise Refused("the same instant is given twice with different values")
        payload = LiveReading(
            resource_id=resource.resource_id,
            field=field.name,
            unit=field.unit,
            at=from_ms(at),
            value=field.number(value),
        )
        self.events.append(Event(topics.readings(resource.resource_id), field.name, payload))
