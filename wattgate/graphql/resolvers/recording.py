"""Readings on their way in: a call that takes all or none, and columns of which each reading is taken or refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from wattgate.clock import from_ms, iso, to_ms
from wattgate.db import models
from wattgate.db.recording import Incoming
from wattgate.db.storage import QUALITIES, QUALITY_CODES, Field, Refused, field_named, fields_of
from wattgate.errors import BadInput, Problem
from wattgate.graphql.operation import Call, Kind, Rest, operation
from wattgate.graphql.types import readings as types
from wattgate.names import ReadingQuality
from wattgate.principal import Permission
from wattgate.realtime import topics
from wattgate.realtime.events import Event, LiveReading

MAX_READINGS = 10_000
"""How many readings a call takes at most."""


@dataclass(frozen=True, slots=True)
class Recorded:
    recorded: int


@dataclass(frozen=True, slots=True)
class RefusedReading:
    series: int
    index: int
    reason: str


@dataclass(frozen=True, slots=True)
class RecordedColumns:
    recorded: int
    refused: list[RefusedReading]


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
    _check_count(sum(len(one.readings) for one in series))
    batch = await Batch.of(call, [one.resource_id for one in series])
    problems: list[Problem] = []
    for position, one in enumerate(series):
        path = ("series", position)
        try:
            target = batch.target(one.resource_id, one.field)
        except UnknownTarget as unknown:
            problems.append(Problem((*path, unknown.member), str(unknown)))
            continue
        for index, reading in enumerate(one.readings):
            try:
                batch.add(target, reading.at, reading.value, reading.quality)
            except Refused as refused:
                problems.append(Problem((*path, "readings", index), str(refused)))
    if problems:
        raise BadInput(f"{len(problems):,} readings are refused, so none is stored", problems=problems)
    await batch.store(call)
    for event in batch.events():
        call.emit(event)
    return Recorded(len(batch.readings))


@operation(
    Kind.MUTATION,
    returns=types.RecordedColumns,
    needs=Permission.READINGS_WRITE,
    rest=Rest("POST", "/readings"),
)
async def record_reading_columns(call: Call, *, series: list[types.NewReadingColumns]) -> RecordedColumns:
    """Store readings given in columns, at most 10,000 a call; known ones are replaced.

    Each reading that can be stored is; the others are refused one by one, with the reason. Of each series the newest
    stored reading is told to those who watch.
    """
    _check_count(sum(len(one.at) for one in series))
    _check_columns(series)
    batch = await Batch.of(call, [one.resource_id for one in series])
    refused: list[RefusedReading] = []
    for position, one in enumerate(series):
        try:
            target = batch.target(one.resource_id, one.field)
        except UnknownTarget as unknown:
            refused.extend(RefusedReading(position, index, str(unknown)) for index in range(len(one.at)))
            continue
        qualities = one.quality or [ReadingQuality.ACTUAL] * len(one.at)
        for index, (at, value, quality) in enumerate(zip(one.at, one.value, qualities, strict=True)):
            try:
                batch.add(target, at, value, quality)
            except Refused as reason:
                refused.append(RefusedReading(position, index, str(reason)))
    await batch.store(call)
    for event in batch.newest_events():
        call.emit(event)
    return RecordedColumns(len(batch.readings), refused)


class UnknownTarget(ValueError):
    """There is no such resource or field to be recorded; `member` is what names it."""

    def __init__(self, member: str, message: str) -> None:
        super().__init__(message)
        self.member = member


class Target(NamedTuple):
    """Where readings go: a field of a resource, and the oldest instant (ms) that its type keeps, with the days."""

    resource: models.Resource
    number: int
    field: Field
    oldest: int
    keeps: int | None


class Batch:
    """Readings that are checked and wait to be stored together, by series and instant."""

    def __init__(
        self, now: datetime, resources: dict[str, models.Resource], types: dict[str, models.ResourceType]
    ) -> None:
        self._now = now
        self._now_ms = to_ms(now)
        self._resources = resources
        self._types = types
        self._targets: dict[tuple[int, int], Target] = {}
        self.readings: dict[tuple[int, int, int], Incoming] = {}

    @classmethod
    async def of(cls, call: Call, resource_ids: Sequence[str]) -> "Batch":
        """A batch for those of the resources that the caller may see."""
        resources = await call.rows.many(models.Resource, resource_ids)
        kinds = await call.rows.many(models.ResourceType, {one.resource_type_id for one in resources.values()})
        return cls(call.rows.now, resources, kinds)

    def target(self, resource_id: str, field_name: str | None) -> Target:
        """Where readings of this resource and field go. UnknownTarget where the caller has none to be recorded."""
        resource = self._resources.get(resource_id)
        if resource is None or resource.number is None:
            raise UnknownTarget("resourceId", f"{resource_id} does not exist")
        if resource.cost_of:
            raise UnknownTarget("resourceId", "is computed from its consumption; record that")
        field = field_named(fields_of(resource.storage), field_name)
        if field is None:
            raise UnknownTarget("field", f"the resource has no field {field_name}")
        keeps = self._types[resource.resource_type_id].retention_days
        oldest = 0 if keeps is None else to_ms(self._now - timedelta(days=keeps))
        target = Target(resource, resource.number, field, oldest, keeps)
        return self._targets.setdefault((resource.number, field.index), target)

    def add(self, target: Target, at: datetime, value: Decimal, quality: ReadingQuality) -> None:
        """Take a reading. Refused where its field or its type does not allow it, or where it contradicts another."""
        field = target.field
        ms, scaled = field.stamp(at, self._now_ms), field.scaled(value)
        if ms < target.oldest:
            raise Refused(f"{iso(at)} is longer ago than the {target.keeps} days for which readings are kept")
        key = (target.number, field.index, ms)
        reading = Incoming(*key, scaled, QUALITY_CODES[quality], field.hourly)
        if self.readings.setdefault(key, reading) != reading:
            raise Refused("the same instant is given twice with different values")

    async def store(self, call: Call) -> None:
        await call.rows.series.record(list(self.readings.values()), self._now_ms)

    def events(self) -> list[Event]:
        """What those who watch are told: each reading."""
        return [self._event(one) for one in self.readings.values()]

    def newest_events(self) -> list[Event]:
        """What those who watch are told: the newest reading of each series."""
        newest: dict[tuple[int, int], Incoming] = {}
        for one in self.readings.values():
            known = newest.setdefault((one.number, one.field), one)
            if one.at > known.at:
                newest[one.number, one.field] = one
        return [self._event(one) for one in newest.values()]

    def _event(self, one: Incoming) -> Event:
        target = self._targets[one.number, one.field]
        payload = LiveReading(
            resource_id=target.resource.resource_id,
            field=target.field.name,
            unit=target.field.unit,
            at=from_ms(one.at),
            value=target.field.number(one.value),
            quality=QUALITIES[one.quality],
        )
        return Event(topics.readings(target.resource.resource_id), target.field.name, payload)


def _check_count(count: int) -> None:
    if count > MAX_READINGS:
        problem = Problem(("series",), f"holds {count} readings")
        raise BadInput(f"a call takes at most {MAX_READINGS:,} readings", problems=[problem])


def _check_columns(series: Sequence[types.NewReadingColumns]) -> None:
    problems = [
        Problem(("series", position, name), f"has {len(column)} items, and `at` has {len(one.at)}")
        for position, one in enumerate(series)
        for name, column in (("value", one.value), ("quality", one.quality))
        if column is not None and len(column) != len(one.at)
    ]
    if problems:
        raise BadInput("columns of one series are equally long", problems=problems)
