"""Somebody who watches topics of a bus and remembers what came."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from wattgate.enums import ReadingQuality
from wattgate.realtime.bus import Bus
from wattgate.realtime.events import Event, ReadingRecorded

AT = datetime(2026, 11, 1, tzinfo=UTC)


def reading(topic: str, value: float) -> Event:
    """An event that a value was read."""
    return Event(topic, "POWER", ReadingRecorded("resource", "POWER", "W", AT, value, ReadingQuality.ACTUAL))


def values(events: list[Event]) -> list[float]:
    return [event.payload.value for event in events]


async def since(bus: Bus, topic: str, position: str) -> list[Event] | None:
    """The kept events of a topic after a position; None where its entry is gone."""
    (events,) = await bus.read_since([(topic, position)])
    return events


class Watcher:
    """What a bus has handed over: events, and what it said of interruptions."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self.events: list[Event] = []
        self.told: list[tuple[str, bool]] = []
        self._changed = asyncio.Event()
        bus.set_callbacks(self._deliver, self._resynced)

    def values(self, topic: str) -> list[float]:
        return values([event for event in self.events if event.topic == topic])

    async def until(self, reached: Callable[[], bool]) -> None:
        """Wait until what came is enough."""
        async with asyncio.timeout(15):
            while not reached():
                self._changed.clear()
                await self._changed.wait()

    def _deliver(self, event: Event) -> None:
        self.events.append(event)
        self._changed.set()

    def _resynced(self, topic: str, recovered: bool, position: str) -> None:
        self.told.append((topic, recovered))
        self._changed.set()


@asynccontextmanager
async def watching(bus: Bus) -> AsyncIterator[Watcher]:
    """A watcher on a bus that is open as long as the context lasts."""
    watcher = Watcher(bus)
    async with bus:
        yield watcher
