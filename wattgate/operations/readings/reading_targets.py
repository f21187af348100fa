"""Reading targets: the fields of resources for which a caller may record readings, and the events of new readings."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from sqlalchemy import or_
from sqlmodel import col

from wattgate.clock import EPOCH, format_iso, from_ms, to_ms
from wattgate.db import models
from wattgate.db.queries.tenancies import storage_bounds
from wattgate.db.readings.recording import ReadingColumns, ReadingRow
from wattgate.energy.arrays import IntArray
from wattgate.energy.consent_gaps import StorageBounds
from wattgate.energy.storage_fields import QUALITIES, ReadingField, StorageError, find_field, parse_fields
from wattgate.operations.core.operation import Call
from wattgate.realtime import topics
from wattgate.realtime.events import Event, ReadingRecorded, RuleReadingRecorded


class UnknownTarget(ValueError):
    """The resource or field does not exist or cannot be recorded. `argument` is the argument that names it."""

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(message)
        self.argument = argument


class WithoutConsentError(StorageError):
    """The reading is of a time without a valid consent of the household."""


class ReadingTarget(NamedTuple):
    """A field of a resource, the oldest time (ms) that can be recorded, and the retention in days (None: no limit).

    `bounds` says when the household lives at the meter point, and when it has not consented.
    """

    resource: models.Resource
    number: int
    field: ReadingField
    oldest_ms: int
    retention_days: int | None
    bounds: StorageBounds

    def validate(self, at: datetime, value: Decimal, now_ms: int) -> tuple[int, int]:
        """Return the time (ms) and the integer to store.

        Raise StorageError if the field or the retention does not allow them, and WithoutConsentError without consent.
        """
        ms, scaled = self.field.to_stored_ms(at, now_ms), self.field.to_stored(value)
        if ms < self.bounds.since:
            raise StorageError(f"{format_iso(at)} is before the household moved in at the meter point")
        if ms < self.oldest_ms:
            raise StorageError(
                f"{format_iso(at)} is longer ago than the {self.retention_days} days for which readings are kept"
            )
        if self.bounds.is_without_consent(ms):
            raise WithoutConsentError(
                f"{format_iso(at)} is in a time without a valid consent for meter point {self.resource.mpxn}"
            )
        return ms, scaled

    def rejection_reason(self, ms: int, value: float, now_ms: int) -> str:
        """Return the reason why a reading, given as numbers, cannot be stored."""
        try:
            self.validate(from_ms(ms), Decimal(repr(value).removesuffix(".0")), now_ms)
        except StorageError as error:
            return str(error)
        except OverflowError:
            return "its time is out of range"
        raise AssertionError(f"{value} at {ms} is rejected in a batch but valid on its own")


class ReadingTargets:
    """The reading targets of one call, loaded for all its resources at once."""

    def __init__(
        self,
        now: datetime,
        resources: dict[str, models.Resource],
        resource_types: dict[str, models.ResourceType],
        bounds: Mapping[str, StorageBounds],
    ) -> None:
        self.now_ms = to_ms(now)
        self._now = now
        self._resources = resources
        self._resource_types = resource_types
        self._bounds = bounds
        self._targets: dict[tuple[int, int], ReadingTarget] = {}

    @classmethod
    async def load(cls, call: Call, resource_ids: Collection[str]) -> "ReadingTargets":
        """Load the targets of those of these resources that the caller may see."""
        resources = await call.rows.get_many(models.Resource, resource_ids)
        resource_types = await call.rows.get_many(
            models.ResourceType, {resource.resource_type_id for resource in resources.values()}
        )
        bounds = await storage_bounds(call.rows, resources.values())
        return cls(call.rows.now, resources, resource_types, bounds)

    def find(self, resource_id: str, field_name: str | None) -> ReadingTarget:
        """Return the target of a resource and field. Raise UnknownTarget if the caller cannot record it."""
        resource = self._resources.get(resource_id)
        if resource is None or resource.number is None:
            raise UnknownTarget("resourceId", f"{resource_id} does not exist")
        if not resource.active:
            raise UnknownTarget("resourceId", f"{resource_id} is closed; open it again with updateResource first")
        if resource.cost_of:
            raise UnknownTarget("resourceId", "is computed from its consumption; record that")
        field = find_field(parse_fields(resource.storage), field_name)
        if field is None:
            raise UnknownTarget("field", f"the resource has no field {field_name}")
        retention_days = self._resource_types[resource.resource_type_id].retention_days
        bounds = self._bounds[resource_id]
        kept_ms = 0 if retention_days is None else to_ms(self._now - timedelta(days=retention_days))
        target = ReadingTarget(resource, resource.number, field, max(kept_ms, bounds.since), retention_days, bounds)
        return self._targets.setdefault((resource.number, field.index), target)

    def watched(self) -> dict[tuple[int, int], ReadingTarget]:
        """Return the targets with alert rules, by resource number and field index."""
        return {key: target for key, target in self._targets.items() if target.resource.watched}

    def build_events(self, target: ReadingTarget, at: IntArray, scaled: IntArray, quality: IntArray) -> Iterator[Event]:
        """Yield the events of stored readings of one target, given in columns."""
        resource_id, field = target.resource.resource_id, target.field
        topic = topics.readings(resource_id)
        offsets, values = at.astype("timedelta64[ms]").tolist(), (scaled / 10**field.decimals).tolist()
        for offset, value, code in zip(offsets, values, quality.tolist(), strict=True):
            payload = ReadingRecorded(resource_id, field.name, field.unit, EPOCH + offset, value, QUALITIES[code])
            yield Event(topic, field.name, payload)

    def build_event(self, reading: ReadingRow) -> Event:
        """Return the event of a stored reading."""
        target = self._targets[reading.number, reading.field]
        payload = ReadingRecorded(
            resource_id=target.resource.resource_id,
            field=target.field.name,
            unit=target.field.unit,
            at=from_ms(reading.at),
            value=target.field.from_stored(reading.value),
            quality=QUALITIES[reading.quality],
        )
        return Event(topics.readings(target.resource.resource_id), target.field.name, payload)


async def notify_alert_rules(call: Call, targets: ReadingTargets, readings: ReadingColumns) -> None:
    """Emit an event for each series with alert rules, so that the rules are evaluated after the commit.

    Rules that have judged later readings already keep the instant from which they judge again: an event may be lost.
    """
    watched = targets.watched()
    if not watched:
        return
    rule = models.AlertRule
    for key, oldest in readings.oldest_by_series().items():
        if (target := watched.get(key)) is None:
            continue
        resource_id, field = target.resource.resource_id, target.field.name
        await call.rows.update(
            rule,
            col(rule.resource_id) == resource_id,
            col(rule.field) == field,
            col(rule.judged_to) >= oldest,
            or_(col(rule.late_from).is_(None), col(rule.late_from) > oldest),
            late_from=oldest,
        )
        payload = RuleReadingRecorded(call.rows.application_id, resource_id, field, oldest)
        call.emit(Event(topics.rule_readings(), f"{resource_id}:{field}", payload))


async def store_readings(call: Call, targets: ReadingTargets, readings: ReadingColumns) -> None:
    """Store readings, and emit an event with the newest reading of each series."""
    await call.rows.readings.record(readings, targets.now_ms)
    for newest in readings.newest_by_series():
        call.emit(targets.build_event(newest))
    await notify_alert_rules(call, targets, readings)
