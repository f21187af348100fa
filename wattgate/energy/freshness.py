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
from wattgate.energy.buckets import DAY, MINUTE
from wattgate.energy.storage_fields import Field
from wattgate.enums import FreshnessCause, FreshnessState

SECOND = 1000


class Receipt(NamedTuple):
    """Readings of a series that were received at one instant, the newest of them being `at`."""

    received_at: int
    at: int


class Limit(NamedTuple):
    """The age at which a state ends: so many of the intervals at which readings are expected, or `least` if more."""

    intervals: int
    least: int

    def age(self, every: int) -> int:
        return max(self.intervals * every, self.least)


LIMITS: Mapping[FreshnessState, Limit] = MappingProxyType(
    {
        FreshnessState.LIVE: Limit(2, 30 * SECOND),
        FreshnessState.DELAYED: Limit(4, 2 * MINUTE),
        FreshnessState.STALE: Limit(8, 15 * MINUTE),
    }
)
"""When each state gives way to the next; after the last one it is OFFLINE.

Power that comes every 10 seconds is LIVE for 30 seconds, DELAYED up to 2 minutes and STALE up to 15; half hours that
the meter network delivers once a day are LIVE for two days.
"""

LIVE_EVERY = 10 * SECOND
"""How often readings are expected that are not sampled on a grid, until that is learned: displays send so."""

SAYS_EVERY = MINUTE
"""How often a device is expected to say something of itself."""

INTAKE_EVERY = 30 * SECOND
"""How often what takes in the messages of devices gives a sign of life."""

DELIVERED = 15 * MINUTE
NETWORK_EVERY = DAY
"""Samples from so long an interval on are collected by the meter network, which delivers once a day, until another
cadence is learned; finer ones are expected as they are taken."""

ENOUGH = 4
LEARNED = 2 * DAY
"""From how many receipts a cadence is learned, and, of what the meter network collects, over how long."""

GIVEN_UP = 30 * DAY
"""A field that has been silent for so long says nothing of its resource while another one does not."""


class Pulse(NamedTuple):
    """What is known of a source: up to when it has readings (None before the first), and how often they come."""

    as_of: int | None
    every: int

    def at(self, instant: int) -> "Pulse":
        """The pulse once there are readings up to an instant."""
        return self if self.as_of is not None and instant <= self.as_of else self._replace(as_of=instant)

    def state(self, now: int) -> FreshnessState:
        if self.as_of is None:
            return FreshnessState.OFFLINE
        age = now - self.as_of
        return next((state for state, limit in LIMITS.items() if age < limit.age(self.every)), FreshnessState.OFFLINE)

    def turns_at(self, now: int) -> int | None:
        """When the state changes if nothing comes; None where it is OFFLINE already."""
        limit = LIMITS.get(self.state(now))
        return None if limit is None or self.as_of is None else self.as_of + limit.age(self.every)


Pulses = dict[Field, Pulse]
"""By field of a resource, what is known of it."""


class Freshness(msgspec.Struct, frozen=True, gc=False):
    """How fresh something is, as it is told. There is no cause while it is LIVE."""

    state: FreshnessState
    as_of: datetime | None
    age_seconds: int | None
    expected_every_seconds: int
    cause: FreshnessCause | None


def told(pulse: Pulse, now: int, cause: FreshnessCause) -> Freshness:
    """The freshness of a source at an instant; `cause` is what keeps readings away, if they stay away."""
    state = pulse.state(now)
    return Freshness(
        state=state,
        as_of=None if pulse.as_of is None else from_ms(pulse.as_of),
        age_seconds=None if pulse.as_of is None else max(0, now - pulse.as_of) // SECOND,
        expected_every_seconds=max(1, pulse.every // SECOND),
        cause=None if state is FreshnessState.LIVE else cause,
    )


def as_of(field: Field, at: int) -> int:
    """Up to when a reading tells something: the end of its sample, or its instant where sampling is irregular."""
    return at + (field.interval_ms or 0)


def telling(pulses: Iterable[Pulse], now: int) -> Pulse:
    """The pulse that says most of a resource with several fields: the quickest of those that are not given up."""
    return min(
        pulses,
        key=lambda one: (
            one.as_of is None,
            one.as_of is None or now - one.as_of > GIVEN_UP,
            one.every,
            -(one.as_of or 0),
        ),
    )


def freshest(pulses: Iterable[Pulse], now: int) -> Pulse:
    """The pulse in the best state, the newest of several: a device is as fresh as the best sign of it."""
    order = list(FreshnessState)
    return min(pulses, key=lambda one: (order.index(one.state(now)), -(one.as_of or 0)))


def depth(field: Field) -> int:
    """How many of the newest readings a cadence is learned from: four days of half hours, ten minutes of power."""
    return 200 if collected(field) else 60


def reach(field: Field) -> int:
    """How long before the newest reading none is looked at for that."""
    return (field.interval_ms or 2 * DAY) * depth(field)


def cadence(field: Field, receipts: Sequence[Receipt]) -> int:
    """How often something newer comes, learned from when the newest readings of a field were received, in order.

    It is the gap in which half of that time lies, the longest gap left out, which may have been an outage: a file that
    comes every night and is recorded in many parts counts as one delivery. What is collected is late besides.
    """
    span = receipts[-1].received_at - receipts[0].received_at if receipts else 0
    if len(receipts) < ENOUGH or (collected(field) and span < LEARNED):
        return _declared(field)
    shortest = field.interval_ms or SECOND
    gaps = sorted(later.received_at - earlier.received_at for earlier, later in pairwise(receipts))[:-1]
    gap = next(gap for gap, passed in zip(gaps, accumulate(gaps), strict=True) if 2 * passed >= sum(gaps))
    late = min(one.received_at - as_of(field, one.at) for one in receipts) if collected(field) else 0
    return max(min(gap, DAY), shortest) + min(max(late, 0), DAY)


def _declared(field: Field) -> int:
    if field.interval_ms is None:
        return LIVE_EVERY
    return max(field.interval_ms, NETWORK_EVERY) if collected(field) else field.interval_ms


def collected(field: Field) -> bool:
    """Whether the meter network is expected to collect a field's samples; others come as they are taken."""
    return field.interval_ms is not None and field.interval_ms >= DELIVERED


class Sender(NamedTuple):
    """A device in a home: when it last said something of itself, and the resources that it feeds."""

    said: Pulse
    feeds: tuple[str, ...]


class Inlet(NamedTuple):
    """What takes in the messages of devices: its last sign of life, and whether that said that it can."""

    pulse: Pulse
    connected: bool


TALKS = (FreshnessState.LIVE, FreshnessState.DELAYED)
"""While the best sign of a device is so fresh, it is not the device that keeps readings away."""


@dataclasses.dataclass(slots=True)
class Picture:
    """What is known of resources and of the devices that feed them: what freshness and its cause are told from.

    `pulses` are by resource, of all that those devices feed; `senders` are by device, `sender_of` by resource,
    `intakes` by name.
    """

    pulses: dict[str, Pulses]
    senders: dict[str, Sender] = dataclasses.field(default_factory=dict)
    sender_of: dict[str, str] = dataclasses.field(default_factory=dict)
    intakes: dict[str, Inlet] = dataclasses.field(default_factory=dict)

    def pulse(self, resource_id: str, of: Field | None, now: int) -> Pulse:
        """That of one field of a resource, or of the one that says most."""
        known = self.pulses[resource_id]
        return telling(known.values(), now) if of is None else known[of]

    def resource(self, resource_id: str, of: Field | None, now: int) -> Freshness:
        pulse = self.pulse(resource_id, of, now)
        live = pulse.state(now) is FreshnessState.LIVE
        return told(pulse, now, FreshnessCause.UNKNOWN if live else self._cause(resource_id, pulse, now))

    def device(self, device_id: str, now: int) -> Freshness:
        """The freshness of the best sign of a device. What never gave one is OFFLINE, and nobody knows why."""
        pulse = freshest(self._signs(device_id), now)
        if self._fell_silent_with_the_platform(pulse, now):
            return told(pulse, now, FreshnessCause.PLATFORM)
        return told(pulse, now, FreshnessCause.UNKNOWN if pulse.as_of is None else FreshnessCause.GATEWAY)

    def read(self, resource_id: str, name: str, at: int) -> Pulse | None:
        """Take note of a reading of a field; the pulse of that field from now on, None where there is no such field."""
        known = self.pulses.get(resource_id, {})
        of = next((one for one in known if one.name == name), None)
        if of is None:
            return None
        known[of] = known[of].at(as_of(of, at))
        return known[of]

    def say(self, device_id: str, at: int) -> Pulse | None:
        """Take note that a device has said something of itself; None where the device is none of the picture."""
        sender = self.senders.get(device_id)
        if sender is None:
            return None
        self.senders[device_id] = sender._replace(said=sender.said.at(at))
        return self.senders[device_id].said

    def take_in(self, name: str, at: int, connected: bool) -> Pulse | None:
        """Take note of a sign of life of an intake; None where no device of the picture needs one."""
        if not self.senders:
            return None
        known = self.intakes.get(name)
        pulse = Pulse(at, INTAKE_EVERY) if known is None else known.pulse.at(at)
        self.intakes[name] = Inlet(pulse, connected)
        return pulse

    def turns_at(self, now: int) -> int | None:
        """The next instant at which something may change if nothing comes."""
        pulses = [one for known in self.pulses.values() for one in known.values()]
        pulses += [sender.said for sender in self.senders.values()]
        pulses += [intake.pulse for intake in self.intakes.values()]
        turns = [one.turns_at(now) for one in pulses]
        return min((turn for turn in turns if turn is not None), default=None)

    def _cause(self, resource_id: str, pulse: Pulse, now: int) -> FreshnessCause:
        """What keeps the readings of a resource away: its meter where its device still talks, else the device."""
        device_id = self.sender_of.get(resource_id)
        if device_id is None:
            return FreshnessCause.UNKNOWN
        if self._fell_silent_with_the_platform(pulse, now):
            return FreshnessCause.PLATFORM
        if freshest(self._signs(device_id), now).state(now) in TALKS:
            return FreshnessCause.METER
        sender = self.senders[device_id]
        meters = [one for one in sender.feeds if any(pulse.as_of is not None for pulse in self.pulses[one].values())]
        # a device that only ever spoke through one meter: nobody can tell which of the two is silent
        alone = sender.said.as_of is None and len(meters) < 2
        return FreshnessCause.UNKNOWN if alone else FreshnessCause.GATEWAY

    def _fell_silent_with_the_platform(self, pulse: Pulse, now: int) -> bool:
        """Whether a source was live as long as messages were taken in, and has been silent only since then."""
        up = [one for one in self.intakes.values() if one.connected and one.pulse.state(now) is FreshnessState.LIVE]
        if up or not self.intakes or pulse.as_of is None:
            return False
        until = max(one.pulse.as_of or 0 for one in self.intakes.values())
        return pulse.as_of <= until + INTAKE_EVERY and pulse.state(until) is FreshnessState.LIVE

    def _signs(self, device_id: str) -> list[Pulse]:
        """What a device said of itself and its live readings, or all where there is none of these."""
        sender = self.senders[device_id]
        known = [pair for one in sender.feeds for pair in self.pulses[one].items()]
        live = [sender.said, *(pulse for one, pulse in known if not collected(one))]
        if all(pulse.as_of is None for pulse in live):
            return [sender.said, *(pulse for _, pulse in known)]
        return live
