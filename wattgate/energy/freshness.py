"""Freshness of readings: a state from the age of the newest reading and the expected interval. No I/O.

Instants and durations are milliseconds. Instants count from 1970 (UTC).
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from wattgate.clock import from_ms
from wattgate.energy.buckets import DAY_MS, MINUTE_MS
from wattgate.energy.storage_fields import ReadingField
from wattgate.enums import FreshnessCause, FreshnessState

SECOND_MS = 1000


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
        if self.as_of is None:
            return FreshnessState.OFFLINE
        age = now - self.as_of
        return next(
            (state for state, limit in AGE_LIMITS.items() if age < limit.max_age(self.interval)), FreshnessState.OFFLINE
        )

    def next_change(self, now: int) -> int | None:
        """Return when the state changes if nothing arrives; None if it is OFFLINE already."""
        limit = AGE_LIMITS.get(self.state(now))
        return None if limit is None or self.as_of is None else self.as_of + limit.max_age(self.interval)


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
        key=lambda one: (
            one.as_of is None,
            one.as_of is None or now - one.as_of > ABANDONED_AFTER_MS,
            one.interval,
            -(one.as_of or 0),
        ),
    )


def freshest_heartbeat(heartbeats: Iterable[Heartbeat], now: int) -> Heartbeat:
    """Return the newest heartbeat in the best state. A device is as fresh as its freshest source."""
    order = list(FreshnessState)
    return min(heartbeats, key=lambda one: (order.index(one.state(now)), -(one.as_of or 0)))


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
    gap = next(gap for gap, passed in zip(gaps, accumulate(gaps), strict=True) if 2 * passed >= sum(gaps))
    late = min(one.received_at - sample_end(field, one.at) for one in receipts) if is_collected_by_network(field) else 0
    return max(min(gap, DAY_MS), shortest) + min(max(late, 0), DAY_MS)


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


RESPONDING_STATES = (FreshnessState.LIVE, FreshnessState.DELAYED)
"""While a device is in one of these states, it is not the cause of missing readings."""


@dataclasses.dataclass(slots=True)
class FreshnessSnapshot:
    """The state of resources, devices and intakes, from which freshness and its cause are derived.

    - `heartbeats`: by resource id, for all resources that the devices feed
    - `devices`: by device id
    - `device_by_resource`: the id of the device that feeds a resource
    - `intakes`: by name
    """

    heartbeats: dict[str, HeartbeatsByField]
    devices: dict[str, FeedingDevice] = dataclasses.field(default_factory=dict)
    device_by_resource: dict[str, str] = dataclasses.field(default_factory=dict)
    intakes: dict[str, IntakeStatus] = dataclasses.field(default_factory=dict)

    def resource_heartbeat(self, resource_id: str, field: ReadingField | None, now: int) -> Heartbeat:
        """Return the heartbeat of a field, or without a field that of the most informative one."""
        known = self.heartbeats[resource_id]
        return most_informative_heartbeat(known.values(), now) if field is None else known[field]

    def resource_freshness(self, resource_id: str, field: ReadingField | None, now: int) -> Freshness:
        pulse = self.resource_heartbeat(resource_id, field, now)
        live = pulse.state(now) is FreshnessState.LIVE
        return build_freshness(pulse, now, FreshnessCause.UNKNOWN if live else self._cause(resource_id, pulse, now))

    def device_freshness(self, device_id: str, now: int) -> Freshness:
        """Return the freshness of a device. One that never sent anything is OFFLINE with the cause UNKNOWN."""
        pulse = freshest_heartbeat(self._device_heartbeats(device_id), now)
        if self._stopped_with_intake(pulse, now):
            return build_freshness(pulse, now, FreshnessCause.PLATFORM)
        return build_freshness(pulse, now, FreshnessCause.UNKNOWN if pulse.as_of is None else FreshnessCause.GATEWAY)

    def record_reading(self, resource_id: str, name: str, at: int) -> Heartbeat | None:
        """Record a reading of a field. Return the field's new heartbeat, or None if there is no such field."""
        known = self.heartbeats.get(resource_id, {})
        of = next((one for one in known if one.name == name), None)
        if of is None:
            return None
        known[of] = known[of].advanced_to(sample_end(of, at))
        return known[of]

    def record_device_report(self, device_id: str, at: int) -> Heartbeat | None:
        """Record a device's report about itself. Return its new heartbeat, or None for an unknown device."""
        sender = self.devices.get(device_id)
        if sender is None:
            return None
        self.devices[device_id] = sender._replace(heartbeat=sender.heartbeat.advanced_to(at))
        return self.devices[device_id].heartbeat

    def record_intake(self, name: str, at: int, connected: bool) -> Heartbeat | None:
        """Record a heartbeat of an intake. Return its new heartbeat, or None if the snapshot has no devices."""
        if not self.devices:
            return None
        known = self.intakes.get(name)
        pulse = Heartbeat(at, INTAKE_HEARTBEAT_INTERVAL_MS) if known is None else known.heartbeat.advanced_to(at)
        self.intakes[name] = IntakeStatus(pulse, connected)
        return pulse

    def next_change(self, now: int) -> int | None:
        """Return the next instant at which a state changes if nothing arrives; None if all are OFFLINE."""
        pulses = [one for known in self.heartbeats.values() for one in known.values()]
        pulses += [sender.heartbeat for sender in self.devices.values()]
        pulses += [intake.heartbeat for intake in self.intakes.values()]
        turns = [one.next_change(now) for one in pulses]
        return min((turn for turn in turns if turn is not None), default=None)

    def _cause(self, resource_id: str, pulse: Heartbeat, now: int) -> FreshnessCause:
        """Return the cause of missing readings: the meter if its device still responds, otherwise the device."""
        device_id = self.device_by_resource.get(resource_id)
        if device_id is None:
            return FreshnessCause.UNKNOWN
        if self._stopped_with_intake(pulse, now):
            return FreshnessCause.PLATFORM
        if freshest_heartbeat(self._device_heartbeats(device_id), now).state(now) in RESPONDING_STATES:
            return FreshnessCause.METER
        sender = self.devices[device_id]
        meters = [
            one
            for one in sender.resource_ids
            if any(pulse.as_of is not None for pulse in self.heartbeats[one].values())
        ]
        # A device that has only ever sent readings of one meter: either of the two may be silent.
        alone = sender.heartbeat.as_of is None and len(meters) < 2
        return FreshnessCause.UNKNOWN if alone else FreshnessCause.GATEWAY

    def _stopped_with_intake(self, pulse: Heartbeat, now: int) -> bool:
        """Return whether a source was live until the intakes stopped, so that the platform is the cause."""
        up = [one for one in self.intakes.values() if one.connected and one.heartbeat.state(now) is FreshnessState.LIVE]
        if up or not self.intakes or pulse.as_of is None:
            return False
        until = max(one.heartbeat.as_of or 0 for one in self.intakes.values())
        return pulse.as_of <= until + INTAKE_HEARTBEAT_INTERVAL_MS and pulse.state(until) is FreshnessState.LIVE

    def _device_heartbeats(self, device_id: str) -> list[Heartbeat]:
        """Return the heartbeats of a device's reports and live readings, or of all its readings if those are empty."""
        sender = self.devices[device_id]
        known = [pair for one in sender.resource_ids for pair in self.heartbeats[one].items()]
        live = [sender.heartbeat, *(pulse for one, pulse in known if not is_collected_by_network(one))]
        if all(pulse.as_of is None for pulse in live):
            return [sender.heartbeat, *(pulse for _, pulse in known)]
        return live
