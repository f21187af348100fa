"""How events reach every gateway process."""

from collections.abc import Callable, Sequence
from typing import Protocol

from wattgate.realtime.events import Event

Deliver = Callable[[Event], None]


class Bus(Protocol):
    """Carries events from whoever publishes to every process that watches their topic, in order per topic."""

    def connect(self, deliver: Deliver) -> None:
        """Say where events on watched topics go. Called once, before anything else."""

    async def publish(self, events: Sequence[Event]) -> None:
        """Send a batch of events."""

    async def watch(self, topic: str) -> None:
        """Receive the topic's events from now on."""

    async def unwatch(self, topic: str) -> None:
        """Stop receiving the topic's events."""
