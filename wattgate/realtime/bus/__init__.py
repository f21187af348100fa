"""The event bus between gateway processes: its protocol, positions and retention."""

import re
from collections.abc import Callable, Sequence
from typing import Protocol, Self

from wattgate.realtime.events import Event

DeliverCallback = Callable[[Event], None]
"""Receives an event of an open topic, with its position."""

ResyncCallback = Callable[[str, bool, str], None]
"""Receives a topic after an interruption, whether all missed events were delivered, and the current position."""

MIN_RETAINED_ENTRIES = 60
MIN_RETAINED_SECONDS = 300.0
"""Retention of a topic: at least this many of its newest events.

At one reading every 8 s, 60 entries cover more than 300 s.
"""

TOPIC_LEASE_SECONDS = 600
"""How long a topic's events are retained after no process has it open any more."""


_POSITION_PATTERN = re.compile(r"\d{1,20}-\d{1,20}")


def is_position(text: str) -> bool:
    """Return whether a text has the form of a position."""
    return _POSITION_PATTERN.fullmatch(text) is not None


def parse_position(position: str) -> tuple[int, int]:
    """Return the sort key of a position: milliseconds since 1970 by the clock of the bus, and a sequence number."""
    ms, _, sequence = position.partition("-")
    return int(ms), int(sequence)


class Bus(Protocol):
    """Carry events from publishers to every process that has their topic open, in order within each topic.

    A position identifies one entry of a topic. It is valid while the bus retains that entry.
    """

    is_shared: bool
    """Whether the bus carries events to other processes."""

    def set_callbacks(self, deliver: DeliverCallback, on_resync: ResyncCallback) -> None:
        """Set the receivers of events on open topics. Called once, before any other method."""

    async def __aenter__(self) -> Self:
        """Start the bus. Its server may be unavailable; the bus connects when the server becomes available."""

    async def __aexit__(self, *raised: object) -> None:
        """Stop the bus and close its connections."""

    async def publish(self, events: Sequence[Event]) -> None:
        """Publish a batch of events. Never raise: lost events are logged and reported to the subscribers."""

    async def open_topics(self, topics: Sequence[str]) -> dict[str, str]:
        """Receive the events of these topics from now on. Return the current position of each topic.

        Raise Unavailable if the bus is unavailable.
        """

    def close_topics(self, topics: Sequence[str]) -> None:
        """Stop receiving the events of these topics."""

    async def read_since(self, topic_positions: Sequence[tuple[str, str]]) -> list[list[Event] | None]:
        """Return the retained events after each topic position, in order.

        The result is None where the entry of a position is no longer retained, so that events may be missing.
        Raise Unavailable if the bus is unavailable.
        """

    async def forget(self, topics: Sequence[str]) -> None:
        """Delete the retained events of these topics. Their positions become invalid.

        Raise Unavailable if the bus is unavailable.
        """

    @property
    def is_connected(self) -> bool:
        """Whether events of other processes arrive at the moment."""

    async def has_topic(self, topic: str) -> bool:
        """Return whether the topic is open in a process, or was within TOPIC_LEASE_SECONDS.

        Raise Unavailable if the bus is unavailable.
        """

    async def check(self) -> None:
        """Raise Unavailable, with the reason, if the server of the bus does not reply or is too old."""

    async def find_problems(self) -> list[str]:
        """Return what is wrong with the server of the bus, although it replies, and what to do.

        Raise Unavailable if it does not reply.
        """
