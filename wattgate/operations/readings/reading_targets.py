"""Reading targets: the fields of resources for which a caller may record readings, and the events of new readings."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

import numpy as np
from sqlalchemy import Text, cast, or_
from sqlmodel import col

from wattgate.clock import EPOCH, format_iso, from_ms, to_ms
from wattgate.db import models
from wattgate.db.queries.tenancies import storage_bounds
from wattgate.db.readings.aggregates import SeriesKey
from wattgate.db.readings.recording import ReadingColumns, ReadingRow
from wattgate.db.readings.series_keys import resource_number
from wattgate.energy.arrays import IntArray
from wattgate.energy.consent_gaps import StorageBounds
from wattgate.energy.sampling import (
    ONE_INTERVAL,
    SamplingGrid,
    describe_intervals,
    find_steps,
    format_length,
    intervals_of,
    learned_grid,
)
from wattgate.energy.storage_fields import (
    DIVIDED,
    LEARNED,
    QUALITIES,
    ReadingField,
    StorageDefinition,
    StorageError,
    find_field,
    is_learning,
    parse_fields,
    with_grid,
)
from wattgate.errors import Conflict
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

    def takes(self, ms: int, scaled: int, now_ms: int) -> bool:
        """Return whether a stored integer may be stored at a time (ms)."""
        try:
            return self.validate(from_ms(ms), Decimal(scaled).scaleb(-self.field.decimals), now_ms) == (ms, scaled)
        except StorageError:
            return False

    def rejection_reason(self, ms: int, value: float, now_ms: int) -> str:
        """Return the reason why a reading of a batch, given as numbers, cannot be stored.

        A reading that is valid alone is rejected because of finer ones in the batch (`storage_fields.DIVIDED`).
        """
        try:
            self.validate(from_ms(ms), Decimal(repr(value).removesuffix(".0")), now_ms)
        except StorageError as error:
            return str(error)
        except OverflowError:
            return "its time is out of range"
        return DIVIDED.format(interval=format_length(self.field.interval_ms or 0))


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
        self._learned: dict[str, tuple[StorageDefinition, ...]] = {}
        self._problems: dict[SeriesKey, str] = {}

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
        field = find_field(parse_fields(self._learned.get(resource_id, resource.storage)), field_name)
        if field is None:
            raise UnknownTarget("field", f"the resource has no field {field_name}")
        retention_days = self._resource_types[resource.resource_type_id].retention_days
        bounds = self._bounds[resource_id]
        kept_ms = 0 if retention_days is None else to_ms(self._now - timedelta(days=retention_days))
        if problem := self._problems.get((resource.number, field.index)):
            raise UnknownTarget("at", problem)
        target = ReadingTarget(resource, resource.number, field, max(kept_ms, bounds.since), retention_days, bounds)
        return self._targets.setdefault((resource.number, field.index), target)

    @property
    def has_learning(self) -> bool:
        """Whether one of the resources does not know an interval yet."""
        return any(is_learning(resource.storage) for resource in self._resources.values())

    async def learn(self, call: Call, series: Iterable[tuple[str, str | None, IntArray]]) -> None:
        """Find the intervals of fields that learn them, from stored readings and those of a call (resource, field, at).

        The interval of a field becomes known here, and is stored with the readings. If the readings of a field have
        several intervals, `find` raises UnknownTarget with the reason from then on.
        """
        instants = self._instants_to_learn_from(series)
        if not instants:
            return
        stored = await call.rows.readings.newest_instants(list(instants))
        for key, parts in instants.items():
            steps = find_steps(np.concatenate([*parts, np.array(stored[key], np.int64)]))
            target = self._targets.pop(key)
            if len(intervals := intervals_of(steps)) > 1:
                self._problems[key] = f"the readings have {describe_intervals(intervals)}; {ONE_INTERVAL}"
            elif grid := learned_grid(steps):
                self._set_grid(target.resource, target.field.name, grid)

    def _instants_to_learn_from(
        self, series: Iterable[tuple[str, str | None, IntArray]]
    ) -> dict[SeriesKey, list[IntArray]]:
        instants: dict[SeriesKey, list[IntArray]] = {}
        for resource_id, field_name, at in series:
            resource = self._resources.get(resource_id)
            if resource is None or not is_learning(resource.storage):
                continue
            with suppress(UnknownTarget):
                target = self.find(resource_id, field_name)
                if target.field.is_learning and len(at):
                    instants.setdefault((target.number, target.field.index), []).append(at)
        return instants

    def _set_grid(self, resource: models.Resource, field_name: str, grid: SamplingGrid) -> None:
        """Use the interval of a field in this call. Other fields of its storage definition have it too."""
        known = self._learned.get(resource.resource_id, resource.storage)
        self._learned[resource.resource_id] = with_grid(known, field_name, *grid)
        self._targets = {key: target for key, target in self._targets.items() if key[0] != resource.number}

    async def store_learned(self, call: Call, numbers: IntArray) -> None:
        """Store the intervals that became known, of those of the resources (`numbers`) that get readings."""
        recorded = set(np.unique(numbers).tolist()) if self._learned else set()
        learned = [self._resources[key] for key in self._learned if self._resources[key].number in recorded]
        if not learned:
            return
        for resource in sorted(learned, key=resource_number):
            await _store_storage(call, resource.resource_id, self._learned[resource.resource_id])
        costs = await call.rows.all(
            models.Resource, col(models.Resource.cost_of).in_([resource.resource_id for resource in learned])
        )
        for cost in sorted(costs, key=resource_number):
            energy = parse_fields(self._learned[cost.cost_of or ""])[0]
            if is_learning(cost.storage) and energy.interval_ms:
                grid = energy.interval_ms, energy.start_ms % energy.interval_ms
                storage = with_grid(cost.storage, parse_fields(cost.storage)[0].name, *grid)
                await _store_storage(call, cost.resource_id, storage)

    def used(self) -> list[ReadingTarget]:
        """Return the targets that were found so far."""
        return list(self._targets.values())

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


async def _store_storage(call: Call, resource_id: str, storage: Sequence[StorageDefinition]) -> None:
    """Store the interval of a resource. Raise Conflict if another call has stored another one meanwhile."""
    stored = col(models.Resource.storage)
    is_open, is_equal = cast(stored, Text).contains(f'"{LEARNED}"'), stored == tuple(storage)
    if not await call.rows.update(
        models.Resource,
        col(models.Resource.resource_id) == resource_id,
        or_(is_open, is_equal),
        storage=tuple(storage),
    ):
        raise Conflict(
            f"Another call recorded the first readings of resource {resource_id} at the same time. Send them again."
        )


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
