"""How fresh readings are: what the age of the newest says, by how often readings come. Pure.

Instants and spans are milliseconds, instants since 1970 (UTC).
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
    """Readings of a series that were received at one instant, the newest of them being `at`."""

    received_at: int
    at: int


class AgeLimit(NamedTuple):
    """The age at which a state ends: so many of the intervals at which readings are expected, or `least` if more."""

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
"""When each state gives way to the next; after the last one it is OFFLINE.

Power that comes every 10 seconds is LIVE for 30 seconds, DELAYED up to 2 minutes and STALE up to 15; half hours that
the meter network delivers once a day are LIVE for two days.
"""

LIVE_INTERVAL_MS = 10 * SECOND_MS
"""How often readings are expected that are not sampled on a grid, until that is learned: displays send so."""

DEVICE_REPORT_INTERVAL_MS = MINUTE_MS
"""How often a device is expected to say something of itself."""

INTAKE_HEARTBEAT_INTERVAL_MS = 30 * SECOND_MS
"""How often what takes in the messages of devices gives a sign of life."""

MIN_COLLECTED_INTERVAL_MS = 15 * MINUTE_MS
NETWORK_DELIVERY_INTERVAL_MS = DAY_MS
"""Samples from so long an interval on are collected by the meter network, which delivers once a day, until another
cadence is learned; finer ones are expected as they are taken."""

MIN_RECEIPTS = 4
MIN_LEARNING_SPAN_MS = 2 * DAY_MS
"""From how many receipts a cadence is learned, and, of what the meter network collects, over how long."""

ABANDONED_AFTER_MS = 30 * DAY_MS
"""A field that has been silent for so long says nothing of its resource while another one does not."""


class Heartbeat(NamedTuple):
    """What is known of a source: up to when it has readings (None before the first), and how often they come."""

    as_of: int | None
    interval: int

    def advanced_to(self, instant: int) -> "Heartbeat":
        """The pulse once there are readings up to an instant."""
        return self if self.as_of is not None and instant <= self.as_of else self._replace(as_of=instant)

    def state(self, now: int) -> FreshnessState:
        if self.as_of is None:
            return FreshnessState.OFFLINE
        age = now - self.as_of
        return next(
            (state for state, limit in AGE_LIMITS.items() if age < limit.max_age(self.interval)), FreshnessState.OFFLINE
        )

    def next_change(self, now: int) -> int | None:
        """When the state changes if nothing comes; None where it is OFFLINE already."""
        limit = AGE_LIMITS.get(self.state(now))
        return None if limit is None or self.as_of is None else self.as_of + limit.max_age(self.interval)


HeartbeatsByField = dict[ReadingField, Heartbeat]
"""By field of a resource, what is known of it."""


class Freshness(msgspec.Struct, frozen=True, gc=False):
    """How fresh something is, as it is told. There is no cause while it is LIVE."""

    state: FreshnessState
    as_of: datetime | None
    age_seconds: int | None
    expected_every_seconds: int
    cause: FreshnessCause | None


def build_freshness(heartbeat: Heartbeat, now: int, cause: FreshnessCause) -> Freshness:
    """The freshness of a source at an instant; `cause` is what keeps readings away, if they stay away."""
    state = heartbeat.state(now)
    return Freshness(
        state=state,
        as_of=None if heartbeat.as_of is None else from_ms(heartbeat.as_of),
        age_seconds=None if heartbeat.as_of is None else max(0, now - heartbeat.as_of) // SECOND_MS,
        expected_every_seconds=max(1, heartbeat.interval // SECOND_MS),
        cause=None if state is FreshnessState.LIVE else cause,
    )


def sample_end(field: ReadingField, at: int) -> int:
    """Up to when a reading tells something: the end of its sample, or its instant where sampling is irregular."""
    return at + (field.interval_ms or 0)


def most_informative_heartbeat(heartbeats: Iterable[Heartbeat], now: int) -> Heartbeat:
    """The pulse that says most of a resource with several fields: the quickest of those that are not given up."""
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
    """The pulse in the best state, the newest of several: a device is as fresh as the best sign of it."""
    order = list(FreshnessState)
    return min(heartbeats, key=lambda one: (order.index(one.state(now)), -(one.as_of or 0)))


def learning_sample_count(field: ReadingField) -> int:
    """How many of the newest readings a cadence is learned from: four days of half hours, ten minutes of power."""
    return 200 if is_collected_by_network(field) else 60


def learning_window_ms(field: ReadingField) -> int:
    """How long before the newest reading none is looked at for that."""
    return (field.interval_ms or 2 * DAY_MS) * learning_sample_count(field)


def learn_interval(field: ReadingField, receipts: Sequence[Receipt]) -> int:
    """How often something newer comes, learned from when the newest readings of a field were received, in order.

    It is the gap in which half of that time lies, the longest gap left out, which may have been an outage: a file that
    comes every night and is recorded in many parts counts as one delivery. What is collected is late besides.
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
    """Whether the meter network is expected to collect a field's samples; others come as they are taken."""
    return field.interval_ms is not None and field.interval_ms >= MIN_COLLECTED_INTERVAL_MS


class FeedingDevice(NamedTuple):
    """A device in a home: when it last said something of itself, and the resources that it feeds."""

    heartbeat: Heartbeat
    resource_ids: tuple[str, ...]


class IntakeStatus(NamedTuple):
    """What takes in the messages of devices: its last sign of life, and whether that said that it can."""

    heartbeat: Heartbeat
    connected: bool


RESPONDING_STATES = (FreshnessState.LIVE, FreshnessState.DELAYED)
"""While the best sign of a device is so fresh, it is not the device that keeps readings away."""


@dataclasses.dataclass(slots=True)
class FreshnessSnapshot:
    """What is known of resources and of the devices that feed them: what freshness and its cause are told from.

    `pulses` are by resource, of all that those devices feed; `senders` are by device, `sender_of` by resource,
    `intakes` by name.
    """

    heartbeats: dict[str, HeartbeatsByField]
    devices: dict[str, FeedingDevice] = dataclasses.field(default_factory=dict)
    device_by_resource: dict[str, str] = dataclasses.field(default_factory=dict)
    intakes: dict[str, IntakeStatus] = dataclasses.field(default_factory=dict)

    def resource_heartbeat(self, resource_id: str, field: ReadingField | None, now: int) -> Heartbeat:
        """That of one field of a resource, or of the one that says most."""
        known = self.heartbeats[resource_id]
        return most_informative_heartbeat(known.values(), now) if field is None else known[field]

    def resource_freshness(self, resource_id: str, field: ReadingField | None, now: int) -> Freshness:
        pulse = self.resource_heartbeat(resource_id, field, now)
        live = pulse.state(now) is FreshnessState.LIVE
        return build_freshness(pulse, now, FreshnessCause.UNKNOWN if live else self._cause(resource_id, pulse, now))

    def device_freshness(self, device_id: str, now: int) -> Freshness:
        """The freshness of the best sign of a device. What never gave one is OFFLINE, and nobody knows why."""
        pulse = freshest_heartbeat(self._device_heartbeats(device_id), now)
        if self._stopped_with_intake(pulse, now):
            return build_freshness(pulse, now, FreshnessCause.PLATFORM)
        return build_freshness(pulse, now, FreshnessCause.UNKNOWN if pulse.as_of is None else FreshnessCause.GATEWAY)

    def record_reading(self, resource_id: str, name: str, at: int) -> Heartbeat | None:
        """Take note of a reading of a field; the pulse of that field from now on, None where there is no such field."""
        known = self.heartbeats.get(resource_id, {})
        of = next((one for one in known if one.name == name), None)
        if of is None:
            return None
        known[of] = known[of].advanced_to(sample_end(of, at))
        return known[of]

    def record_device_report(self, device_id: str, at: int) -> Heartbeat | None:
        """Take note that a device has said something of itself; None where the device is none of the picture."""
        sender = self.devices.get(device_id)
        if sender is None:
            return None
        self.devices[device_id] = sender._replace(heartbeat=sender.heartbeat.advanced_to(at))
        return self.devices[device_id].heartbeat

    def record_intake(self, name: str, at: int, connected: bool) -> Heartbeat | None:
        """Take note of a sign of life of an intake; None where no device of the picture needs one."""
        if not self.devices:
            return None
        known = self.intakes.get(name)
        pulse = Heartbeat(at, INTAKE_HEARTBEAT_INTERVAL_MS) if known is None else known.heartbeat.advanced_to(at)
        self.intakes[name] = IntakeStatus(pulse, connected)
        return pulse

    def next_change(self, now: int) -> int | None:
        """The next instant at which something may change if nothing comes."""
        pulses = [one for known in self.heartbeats.values() for one in known.values()]
        pulses += [sender.heartbeat for sender in self.devices.values()]
        pulses += [intake.heartbeat for intake in self.intakes.values()]
        turns = [one.next_change(now) for one in pulses]
        return min((turn for turn in turns if turn is not None), default=None)

    def _cause(self, resource_id: str, pulse: Heartbeat, now: int) -> FreshnessCause:
        """What keeps the readings of a resource away: its meter where its device still talks, else the device."""
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
        # a device that only ever spoke through one meter: nobody can tell which of the two is silent
        alone = sender.heartbeat.as_of is None and len(meters) < 2
        return FreshnessCause.UNKNOWN if alone else FreshnessCause.GATEWAY

    def _stopped_with_intake(self, pulse: Heartbeat, now: int) -> bool:
        """Whether a source was live as long as messages were taken in, and has been silent only since then."""
        up = [one for one in self.intakes.values() if one.connected and one.heartbeat.state(now) is FreshnessState.LIVE]
        if up or not self.intakes or pulse.as_of is None:
            return False
        until = max(one.heartbeat.as_of or 0 for one in self.intakes.values())
        return pulse.as_of <= until + INTAKE_HEARTBEAT_INTERVAL_MS and pulse.state(until) is FreshnessState.LIVE

    def _device_heartbeats(self, device_id: str) -> list[Heartbeat]:
        """What a device said of itself and its live readings, or all where there is none of these."""
        sender = self.devices[device_id]
        known = [pair for one in sender.resource_ids for pair in self.heartbeats[one].items()]
        live = [sender.heartbeat, *(pulse for one, pulse in known if not is_collected_by_network(one))]
        if all(pulse.as_of is None for pulse in live):
            return [sender.heartbeat, *(pulse for _, pulse in known)]
        return live
