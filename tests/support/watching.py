"""A recorder of the events and interruptions that a bus delivers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

from wattgate.enums import ReadingQuality
from wattgate.realtime.bus import Bus
from wattgate.realtime.events import Event, ReadingRecorded

POLL_SECONDS = 0.02
"""Maximum seconds between two checks of a condition."""

AT = datetime(2026, 11, 1, tzinfo=UTC)


def reading(topic: str, value: float) -> Event:
    """Return an event of a power reading."""
    return Event(topic, "POWER", ReadingRecorded("resource", "POWER", "W", AT, value, ReadingQuality.ACTUAL))


def values(events: list[Event]) -> list[float]:
    return [event.payload.value for event in events]


async def since(bus: Bus, topic: str, position: str) -> list[Event] | None:
    """Return the retained events of a topic after a position, or None if the position is no longer retained."""
    (events,) = await bus.read_since([(topic, position)])
    return events


class Watcher:
    """Records delivered events, and resynchronizations as topic and whether all events were recovered."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self.events: list[Event] = []
        self.resyncs: list[tuple[str, bool]] = []
        self._changed = asyncio.Event()
        bus.set_callbacks(self._deliver, self._resynced)

    def values(self, topic: str) -> list[float]:
        return values([event for event in self.events if event.topic == topic])

    async def until(self, reached: Callable[[], bool]) -> None:
        """Wait at most 60 s until a condition holds, on the recorded events or on what changes without an event."""
        async with asyncio.timeout(60):
            while not reached():
                self._changed.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), POLL_SECONDS)

    def _deliver(self, event: Event) -> None:
        self.events.append(event)
        self._changed.set()

    def _resynced(self, topic: str, recovered: bool, position: str) -> None:
        self.resyncs.append((topic, recovered))
        self._changed.set()


@asynccontextmanager
async def watching(bus: Bus) -> AsyncIterator[Watcher]:
    """Open a bus and yield a watcher on it."""
    watcher = Watcher(bus)
    async with bus:
        yield watcher
