"""How fresh readings are: what the age of the newest says, by how often readings come. Pure.

Instants and spans are milliseconds, instants since 1970 (UTC).
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from wattgate.clock import from_ms
from wattgate.db.buckets import DAY, MINUTE
from wattgate.db.series import Receipt
from wattgate.db.storage import Field
from wattgate.names import FreshnessCause, FreshnessState

SECOND = 1000


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

    def state(self, now: int) -> FreshnessState:
        if self.as_of is None:
            return FreshnessState.OFFLINE
        age = now - self.as_of
        return next((state for state, limit in LIMITS.items() if age < limit.age(self.every)), FreshnessState.OFFLINE)

    def turns_at(self, now: int) -> int | None:
        """When the state changes if nothing comes; None where it is OFFLINE already."""
        limit = LIMITS.get(self.state(now))
        return None if limit is None or self.as_of is None else self.as_of + limit.age(self.every)


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
