"""How events reach every gateway process."""

import re
from collections.abc import Callable, Sequence
from typing import Protocol, Self

from wattgate.realtime.events import Event

DeliverCallback = Callable[[Event], None]
"""Takes an event of a watched topic, with its position."""

ResyncCallback = Callable[[str, bool, str], None]
"""Takes a topic whose events were interrupted, whether all that were missed have been delivered, and its position."""

MIN_RETAINED_ENTRIES = 60
MIN_RETAINED_SECONDS = 300.0
"""At least so many of a topic's newest events can be read again; at a reading every 8 seconds, so many seconds."""

TOPIC_LEASE_SECONDS = 600
"""For how long a topic's events are kept after nobody watches it any more."""


_POSITION_PATTERN = re.compile(r"\d{1,20}-\d{1,20}")


def is_position(text: str) -> bool:
    """Whether a text could be the position of an entry."""
    return _POSITION_PATTERN.fullmatch(text) is not None


def parse_position(position: str) -> tuple[int, int]:
    """Where a position stands among others: milliseconds since 1970 by the bus's clock, and a count within them."""
    ms, _, sequence = position.partition("-")
    return int(ms), int(sequence)


class Bus(Protocol):
    """Carries events from whoever publishes to every process that watches their topic, in order per topic.

    A position names one entry of a topic. It is good for as long as that entry is kept.
    """

    def set_callbacks(self, deliver: DeliverCallback, on_resync: ResyncCallback) -> None:
        """Say where events on watched topics go. Called once, before anything else."""

    async def __aenter__(self) -> Self:
        """Begin. What the bus stands on may be away; it is looked for until it is there."""

    async def __aexit__(self, *raised: object) -> None:
        """End, and close what was opened."""

    async def publish(self, events: Sequence[Event]) -> None:
        """Send a batch of events. It never fails: events that are lost are logged, and their watchers told."""

    async def open_topics(self, topics: Sequence[str]) -> dict[str, str]:
        """Receive these topics' events from now on; each topic's position. Unavailable where the bus is away."""

    def close_topics(self, topics: Sequence[str]) -> None:
        """Stop receiving the topics' events."""

    async def read_since(self, topic_positions: Sequence[tuple[str, str]]) -> list[list[Event] | None]:
        """For each topic and position the kept events after it, in order; None where its entry is gone, so that some
        may be missing. Unavailable where the bus is away.
        """

    async def check(self) -> None:
        """Unavailable, with the reason, where what the bus stands on does not answer or is too old."""
