"""Freshness of readings: a state from the age of the newest reading and the expected interval. No I/O.

Instants and durations are milliseconds. Instants count from 1970 (UTC).
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from wattgate.clock import from_ms
from wattgate.energy.buckets import DAY_MS, MINUTE_MS
from wattgate.energy.storage_fields import ReadingField
from wattgate.enums import FreshnessCause, FreshnessState

SECOND_MS = 1000

MAX_AHEAD_READINGS = 1_000
"""How many readings that are dated ahead a snapshot keeps until their instants. Further ones are left out."""


class Receipt(NamedTuple):
    """The receipt of readings of one series at `received_at`; the newest of them is dated `at`."""

    received_at: int
    at: int


class AgeLimit(NamedTuple):
    """The age at which a state ends: a number of expected intervals, but at least `min_age`."""

    intervals: int
    min_age: int

    def max_age(self, interval: int) -> int:
        return max(self.intervals * interval, self.min_age)


AGE_LIMITS: Mapping[FreshnessState, AgeLimit] = MappingProxyType(
    {
        FreshnessState.LIVE: AgeLimit(2, 30 * SECOND_MS),
        FreshnessState.DELAYED: AgeLimit(4, 2 * MINUTE_MS),
        FreshnessState.STALE: AgeLimit(8, 15 * MINUTE_MS),
    }
)
"""The age at which each state ends. The state after STALE is OFFLINE.

Power that is expected every 10 seconds is LIVE for 30 seconds, DELAYED up to 2 minutes and STALE up to 15 minutes.
Half hours that the meter network delivers once a day are LIVE for two days.
"""

_ORDERED_LIMITS = tuple(AGE_LIMITS.items())

LAST_CURRENT_STATE = FreshnessState.DELAYED
"""The last state in which the newest value may be shown as current. In later states, the number would be old."""

LIVE_INTERVAL_MS = 10 * SECOND_MS
"""Expected interval of irregular readings until it is learned. Displays send every 10 seconds."""

DEVICE_REPORT_INTERVAL_MS = MINUTE_MS
"""Expected interval of a device's reports about itself."""

INTAKE_HEARTBEAT_INTERVAL_MS = 30 * SECOND_MS
"""Interval of the heartbeats of an intake, which receives the messages of devices."""

MIN_COLLECTED_INTERVAL_MS = 15 * MINUTE_MS
NETWORK_DELIVERY_INTERVAL_MS = DAY_MS
"""Samples with at least this interval are collected by the meter network. They are expected once a day until the
interval is learned. Samples with a shorter interval are expected as soon as they are measured."""

MIN_RECEIPTS = 4
MIN_LEARNING_SPAN_MS = 2 * DAY_MS
"""Receipts that are needed to learn an interval, and the time they must span if the meter network collects them."""

ABANDONED_AFTER_MS = 30 * DAY_MS
"""A field that was silent for this long is ignored if another field of the resource has newer readings."""


class Heartbeat(NamedTuple):
    """A source: the time up to which it has readings (None before the first), and its expected interval."""

    as_of: int | None
    interval: int

    def advanced_to(self, instant: int) -> "Heartbeat":
        """Return the heartbeat with readings up to an instant."""
        return self if self.as_of is not None and instant <= self.as_of else self._replace(as_of=instant)

    def state(self, now: int) -> FreshnessState:
        return self._state_and_end(now)[0]

    def _state_and_end(self, now: int) -> tuple[FreshnessState, int | None]:
        """Return the state, and when it ends if nothing arrives; None for OFFLINE, which does not end."""
        if self.as_of is not None:
            for state, limit in _ORDERED_LIMITS:
                end = self.as_of + limit.max_age(self.interval)
                if now < end:
                    return state, end
        return FreshnessState.OFFLINE, None

    def current_until(self) -> int | None:
        """Return when the newest value becomes too old to be shown as current; None without a reading."""
        return None if self.as_of is None else self.as_of + AGE_LIMITS[LAST_CURRENT_STATE].max_age(self.interval)

    def next_change(self, now: int) -> int | None:
        """Return when the state changes if nothing arrives; None if it is OFFLINE already."""
        return self._state_and_end(now)[1]


HeartbeatsByField = dict[ReadingField, Heartbeat]
"""The heartbeat of each field of a resource."""


class Freshness(msgspec.Struct, frozen=True, gc=False):
    """The freshness of a resource or device, for output. `cause` is None while the state is LIVE."""

    state: FreshnessState
    as_of: datetime | None
    age_seconds: int | None
    expected_every_seconds: int
    cause: FreshnessCause | None


def build_freshness(heartbeat: Heartbeat, now: int, cause: FreshnessCause) -> Freshness:
    """Return the freshness of a source at an instant. `cause` is used unless the state is LIVE."""
    state = heartbeat.state(now)
    return Freshness(
        state=state,
        as_of=None if heartbeat.as_of is None else from_ms(heartbeat.as_of),
        age_seconds=None if heartbeat.as_of is None else max(0, now - heartbeat.as_of) // SECOND_MS,
        expected_every_seconds=max(1, heartbeat.interval // SECOND_MS),
        cause=None if state is FreshnessState.LIVE else cause,
    )


def sample_end(field: ReadingField, at: int) -> int:
    """Return the end of the time that a reading covers: the end of its sample, or `at` if sampling is irregular."""
    return at + (field.interval_ms or 0)


def most_informative_heartbeat(heartbeats: Iterable[Heartbeat], now: int) -> Heartbeat:
    """Return the heartbeat with the shortest interval among the fields that are not abandoned."""
    return min(
        heartbeats,
        key=lambda heartbeat: (
            heartbeat.as_of is None,
            heartbeat.as_of is None or now - heartbeat.as_of > ABANDONED_AFTER_MS,
            heartbeat.interval,
            -(heartbeat.as_of or 0),
        ),
    )


def freshest_heartbeat(heartbeats: Iterable[Heartbeat], now: int) -> Heartbeat:
    """Return the newest heartbeat in the best state. A device is as fresh as its freshest source."""
    order = list(FreshnessState)
    return min(heartbeats, key=lambda heartbeat: (order.index(heartbeat.state(now)), -(heartbeat.as_of or 0)))


def learning_sample_count(field: ReadingField) -> int:
    """Return the number of newest readings to learn from: four days of half hours, ten minutes of power."""
    return 200 if is_collected_by_network(field) else 60


def learning_window_ms(field: ReadingField) -> int:
    """Return the age, relative to the newest reading, from which readings are ignored when an interval is learned."""
    return (field.interval_ms or 2 * DAY_MS) * learning_sample_count(field)


def learn_interval(field: ReadingField, receipts: Sequence[Receipt]) -> int:
    """Return the interval at which newer readings arrive, learned from the newest receipts of a field, in order.

    Omit the longest gap between receipts, which may be an outage. Then choose the gap for which that gap and all
    shorter ones cover half of the remaining time. So a file that arrives every night and is recorded in many parts
    counts as one delivery. For readings that the meter network collects, add the shortest delay of a receipt.
    """
    span = receipts[-1].received_at - receipts[0].received_at if receipts else 0
    if len(receipts) < MIN_RECEIPTS or (is_collected_by_network(field) and span < MIN_LEARNING_SPAN_MS):
        return _default_interval(field)
    shortest = field.interval_ms or SECOND_MS
    gaps = sorted(later.received_at - earlier.received_at for earlier, later in pairwise(receipts))[:-1]
    interval = next(interval for interval, total in zip(gaps, accumulate(gaps), strict=True) if 2 * total >= sum(gaps))
    interval = max(min(interval, DAY_MS), shortest)
    if not is_collected_by_network(field):
        return interval
    delay = min(receipt.received_at - sample_end(field, receipt.at) for receipt in receipts)
    return interval + min(max(delay, 0), DAY_MS)


def _default_interval(field: ReadingField) -> int:
    if field.interval_ms is None:
        return LIVE_INTERVAL_MS
    return max(field.interval_ms, NETWORK_DELIVERY_INTERVAL_MS) if is_collected_by_network(field) else field.interval_ms


def is_collected_by_network(field: ReadingField) -> bool:
    """Return whether the meter network collects a field's samples. Other samples arrive as they are measured."""
    return field.interval_ms is not None and field.interval_ms >= MIN_COLLECTED_INTERVAL_MS


class FeedingDevice(NamedTuple):
    """A device in a home: the heartbeat of its reports about itself, and the resources that it feeds."""

    heartbeat: Heartbeat
    resource_ids: tuple[str, ...]


class IntakeStatus(NamedTuple):
    """The last heartbeat of an intake, and whether the intake was connected then."""

    heartbeat: Heartbeat
    connected: bool


@dataclasses.dataclass(slots=True)
class FreshnessSnapshot:
    """The state of resources, devices and intakes, from which freshness and its cause are derived.

    - `heartbeats`: by resource id, for all resources that the devices feed
    - `devices`: by device id
    - `device_by_resource`: the id of the device that feeds a resource
    - `intakes`: by name
    - `ahead`: a heap of the instants, resources and fields of readings that are dated ahead. Each counts from its
      instant on: nothing in the future is fresh.
    """

    heartbeats: dict[str, HeartbeatsByField]
    devices: dict[str, FeedingDevice] = dataclasses.field(default_factory=dict)
    device_by_resource: dict[str, str] = dataclasses.field(default_factory=dict)
    intakes: dict[str, IntakeStatus] = dataclasses.field(default_factory=dict)
    ahead: list[tuple[int, str, str]] = dataclasses.field(default_factory=list)

    def resource_heartbeat(self, resource_id: str, field: ReadingField | None, now: int) -> Heartbeat:
        """Return the heartbeat of a field, or without a field that of the most informative one."""
        self._record_begun(now)
        by_field = self.heartbeats[resource_id]
        return most_informative_heartbeat(by_field.values(), now) if field is None else by_field[field]

    def resource_freshness(self, resource_id: str, field: ReadingField | None, now: int) -> Freshness:
        heartbeat = self.resource_heartbeat(resource_id, field, now)
        is_live = heartbeat.state(now) is FreshnessState.LIVE
        cause = FreshnessCause.UNKNOWN if is_live else self._cause(resource_id, heartbeat, now)
        return build_freshness(heartbeat, now, cause)

    def device_freshness(self, device_id: str, now: int) -> Freshness:
        """Return the freshness of a device. One that never sent anything is OFFLINE with the cause UNKNOWN."""
        self._record_begun(now)
        heartbeat = freshest_heartbeat(self._device_heartbeats(device_id), now)
        return build_freshness(heartbeat, now, self._device_cause(device_id, heartbeat, now))

    def _record_begun(self, now: int) -> None:
        """Record the readings that were dated ahead and are no longer."""
        while self.ahead and self.ahead[0][0] <= now:
            at, resource_id, name = heappop(self.ahead)
            self.record_reading(resource_id, name, at, now)

    def record_reading(self, resource_id: str, name: str, at: int, now: int) -> Heartbeat | None:
        """Record a reading of a field. Return the field's heartbeat, or None if there is no such field.

        A reading that is dated ahead counts from its instant on.
        """
        by_field = self.heartbeats.get(resource_id, {})
        for field, heartbeat in by_field.items():
            if field.name == name:
                if at > now:
                    if len(self.ahead) < MAX_AHEAD_READINGS:
                        heappush(self.ahead, (at, resource_id, name))
                    return heartbeat
                by_field[field] = advanced = heartbeat.advanced_to(sample_end(field, at))
                return advanced
        return None

    def record_device_report(self, device_id: str, at: int) -> Heartbeat | None:
        """Record a device's report about itself. Return its new heartbeat, or None for an unknown device."""
        device = self.devices.get(device_id)
        if device is None:
            return None
        self.devices[device_id] = device._replace(heartbeat=device.heartbeat.advanced_to(at))
        return self.devices[device_id].heartbeat

    def record_intake(self, name: str, at: int, connected: bool) -> Heartbeat | None:
        """Record a heartbeat of an intake. Return its new heartbeat, or None if the snapshot has no devices."""
        if not self.devices:
            return None
        previous = self.intakes.get(name)
        heartbeat = (
            Heartbeat(at, INTAKE_HEARTBEAT_INTERVAL_MS) if previous is None else previous.heartbeat.advanced_to(at)
        )
        self.intakes[name] = IntakeStatus(heartbeat, connected)
        return heartbeat

    def next_change(self, now: int) -> int | None:
        """Return the next instant at which a state may change if nothing arrives; None if all are OFFLINE."""
        self._record_begun(now)
        heartbeats = [heartbeat for by_field in self.heartbeats.values() for heartbeat in by_field.values()]
        heartbeats += [device.heartbeat for device in self.devices.values()]
        heartbeats += [intake.heartbeat for intake in self.intakes.values()]
        changes = [heartbeat.next_change(now) for heartbeat in heartbeats]
        changes += [at for at, _, _ in self.ahead[:1]]
        return min((change for change in changes if change is not None), default=None)

    def _cause(self, resource_id: str, heartbeat: Heartbeat, now: int) -> FreshnessCause:
        """Return the cause of missing readings: the meter while its device is live, otherwise that of the device."""
        device_id = self.device_by_resource.get(resource_id)
        if device_id is None:
            return FreshnessCause.UNKNOWN
        if self._stopped_with_intake(heartbeat, now):
            return FreshnessCause.PLATFORM
        device_heartbeat = freshest_heartbeat(self._device_heartbeats(device_id), now)
        if device_heartbeat.state(now) is FreshnessState.LIVE:
            return FreshnessCause.METER
        return self._device_cause(device_id, device_heartbeat, now)

    def _device_cause(self, device_id: str, heartbeat: Heartbeat, now: int) -> FreshnessCause:
        """Return the cause for which a device with this heartbeat is not live, equal for it and its resources."""
        if self._stopped_with_intake(heartbeat, now):
            return FreshnessCause.PLATFORM
        if heartbeat.as_of is None:
            return FreshnessCause.UNKNOWN
        device = self.devices[device_id]
        active_resources = [
            fed_id
            for fed_id in device.resource_ids
            if any(heartbeat.as_of is not None for heartbeat in self.heartbeats[fed_id].values())
        ]
        # A device that has only ever sent readings of one meter: either of the two may be silent.
        single_source = device.heartbeat.as_of is None and len(active_resources) < 2
        return FreshnessCause.UNKNOWN if single_source else FreshnessCause.GATEWAY

    def _stopped_with_intake(self, heartbeat: Heartbeat, now: int) -> bool:
        """Return whether a source was live until the intakes stopped, so that the platform is the cause."""
        working = any(
            intake.connected and intake.heartbeat.state(now) is FreshnessState.LIVE for intake in self.intakes.values()
        )
        if working or not self.intakes or heartbeat.as_of is None:
            return False
        stopped_at = max(intake.heartbeat.as_of or 0 for intake in self.intakes.values())
        was_live = heartbeat.state(stopped_at) is FreshnessState.LIVE
        return was_live and heartbeat.as_of <= stopped_at + INTAKE_HEARTBEAT_INTERVAL_MS

    def _device_heartbeats(self, device_id: str) -> list[Heartbeat]:
        """Return the heartbeats of a device's reports and live readings.

        Readings that the meter network collects arrive without the device, so they say nothing about it.
        """
        device = self.devices[device_id]
        readings = [item for fed_id in device.resource_ids for item in self.heartbeats[fed_id].items()]
        return [device.heartbeat, *(heartbeat for field, heartbeat in readings if not is_collected_by_network(field))]
