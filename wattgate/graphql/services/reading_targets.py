"""Where readings go: the fields of resources that a caller may record, and what those who watch are told."""

from collections.abc import Collection
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from wattgate.clock import from_ms, iso, to_ms
from wattgate.db import models
from wattgate.db.readings.recording import Incoming, Readings
from wattgate.energy.storage_fields import QUALITIES, Field, Refused, field_named, fields_of
from wattgate.graphql.core.operation import Call
from wattgate.realtime import topics
from wattgate.realtime.events import Event, LiveReading, WatchedRecorded


class UnknownTarget(ValueError):
    """There is no such resource or field to be recorded; `member` is what names it."""

    def __init__(self, member: str, message: str) -> None:
        super().__init__(message)
        self.member = member


class Target(NamedTuple):
    """A field of a resource, the oldest instant (ms) that its type keeps, and for how many days that is."""

    resource: models.Resource
    number: int
    field: Field
    oldest: int
    keeps: int | None

    def checked(self, at: datetime, value: Decimal, now_ms: int) -> tuple[int, int]:
        """The instant and the integer that are stored. Refused where the field or the type does not allow them."""
        ms, scaled = self.field.stamp(at, now_ms), self.field.scaled(value)
        if ms < self.oldest:
            raise Refused(f"{iso(at)} is longer ago than the {self.keeps} days for which readings are kept")
        return ms, scaled

    def reason(self, ms: int, value: float, now_ms: int) -> str:
        """Why a reading that is given as numbers may not be stored."""
        try:
            self.checked(from_ms(ms), Decimal(repr(value).removesuffix(".0")), now_ms)
        except Refused as refused:
            return str(refused)
        except OverflowError:
            return "its time is beyond every calendar"
        raise AssertionError(f"{value} at {ms} is taken one by one")


class Targets:
    """The targets that one call names, found for all its resources at once."""

    def __init__(
        self, now: datetime, resources: dict[str, models.Resource], kinds: dict[str, models.ResourceType]
    ) -> None:
        self.now_ms = to_ms(now)
        self._now = now
        self._resources = resources
        self._kinds = kinds
        self._found: dict[tuple[int, int], Target] = {}

    @classmethod
    async def of(cls, call: Call, resource_ids: Collection[str]) -> "Targets":
        """The targets among those of these resources that the caller may see."""
        resources = await call.rows.many(models.Resource, resource_ids)
        kinds = await call.rows.many(models.ResourceType, {one.resource_type_id for one in resources.values()})
        return cls(call.rows.now, resources, kinds)

    def find(self, resource_id: str, field_name: str | None) -> Target:
        """The target of this resource and field. UnknownTarget where the caller has none to be recorded."""
        resource = self._resources.get(resource_id)
        if resource is None or resource.number is None:
            raise UnknownTarget("resourceId", f"{resource_id} does not exist")
        if resource.cost_of:
            raise UnknownTarget("resourceId", "is computed from its consumption; record that")
        field = field_named(fields_of(resource.storage), field_name)
        if field is None:
            raise UnknownTarget("field", f"the resource has no field {field_name}")
        keeps = self._kinds[resource.resource_type_id].retention_days
        oldest = 0 if keeps is None else to_ms(self._now - timedelta(days=keeps))
        target = Target(resource, resource.number, field, oldest, keeps)
        return self._found.setdefault((resource.number, field.index), target)

    def watched(self) -> list[tuple[str, str]]:
        """The ids of those resources that have alert rules, and the names of the fields that are recorded for them."""
        found = self._found.values()
        return [(one.resource.resource_id, one.field.name) for one in found if one.resource.watched]

    def event(self, one: Incoming) -> Event:
        """What those who watch are told of a reading that is stored."""
        target = self._found[one.number, one.field]
        payload = LiveReading(
            resource_id=target.resource.resource_id,
            field=target.field.name,
            unit=target.field.unit,
            at=from_ms(one.at),
            value=target.field.number(one.value),
            quality=QUALITIES[one.quality],
        )
        return Event(topics.readings(target.resource.resource_id), target.field.name, payload)


def tell_rules(call: Call, targets: Targets) -> None:
    """Wake what evaluates alert rules for those of the resources that have some, once the readings are committed."""
    for resource_id, field in targets.watched():
        told = WatchedRecorded(call.rows.application_id, resource_id, field)
        call.emit(Event(topics.watched_readings(), f"{resource_id}:{field}", told))


async def store(call: Call, targets: Targets, readings: Readings) -> None:
    """Store readings, and tell those who watch the newest one of each series."""
    await call.rows.series.record(readings, targets.now_ms)
    for newest in readings.newest():
        call.emit(targets.event(newest))
    tell_rules(call, targets)
