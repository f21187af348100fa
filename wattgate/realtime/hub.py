"""Who in this process listens to which topic."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from wattgate.realtime.bus import Bus
from wattgate.realtime.events import Event

FEED_BOUND = 1024
"""How many events wait for a slow reader before older ones give way to newer ones of the same key."""


class Feed:
    """The events of some topics for one listener, in order.

    When more than `bound` wait, all but the newest of each topic and key are dropped; the bound is at least
    twice the count of those, so that dropping stays rare.
    """

    def __init__(self, bound: int = FEED_BOUND) -> None:
        self._bound = bound
        self._waiting: deque[Event] = deque()
        self._arrived = asyncio.Event()

    def put(self, event: Event) -> None:
        self._waiting.append(event)
        if len(self._waiting) > self._bound:
            self._waiting = _newest_by_key(self._waiting)
            self._bound = max(self._bound, 2 * len(self._waiting))
        self._arrived.set()

    @property
    def waiting(self) -> int:
        """How many events wait to be taken."""
        return len(self._waiting)

    async def get(self) -> Event:
        """The next event, as soon as there is one."""
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        return self._waiting.popleft()


def _newest_by_key(events: deque[Event]) -> deque[Event]:
    newest = {(event.topic, event.key): event for event in events}
    return deque(event for event in events if newest[event.topic, event.key] is event)


class Hub:
    """Hands each event of the bus to the feeds that listen to its topic."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._feeds: dict[str, set[Feed]] = {}
        bus.connect(self._deliver)

    @asynccontextmanager
    async def feed(self, topics: Sequence[str]) -> AsyncIterator[Feed]:
        """A feed of these topics, for as long as the context lasts."""
        feed = Feed()
        try:
            for topic in topics:
                listeners = self._feeds.setdefault(topic, set())
                listeners.add(feed)
                if len(listeners) == 1:
                    await self._bus.watch(topic)
            yield feed
        finally:
            for topic in topics:
                listeners = self._feeds.get(topic, set())
                listeners.discard(feed)
                if not listeners and self._feeds.pop(topic, None) is not None:
                    await self._bus.unwatch(topic)

    @property
    def listening(self) -> int:
        """How many feeds are open over all topics."""
        return sum(len(feeds) for feeds in self._feeds.values())

    def _deliver(self, event: Event) -> None:
        for feed in self._feeds.get(event.topic, ()):
            feed.put(event)
