"""Who in this process listens to which topic."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from wattgate.errors import Unavailable
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
        self._ended = False

    def put(self, event: Event) -> None:
        if self._ended:
            return
        self._waiting.append(event)
        if len(self._waiting) > self._bound:
            self._waiting = _newest_by_key(self._waiting)
            self._bound = max(self._bound, 2 * len(self._waiting))
        self._arrived.set()

    def end(self) -> None:
        """Take no more events, because some were lost."""
        self._ended = True
        self._arrived.set()

    @property
    def waiting(self) -> int:
        """How many events wait to be taken."""
        return len(self._waiting)

    async def get(self) -> Event:
        """The next event, as soon as there is one. Unavailable after the last one before some that were lost."""
        while not self._waiting:
            if self._ended:
                raise Unavailable("some events were lost; ask again", retry_after=1)
            self._arrived.clear()
            await self._arrived.wait()
        return self._waiting.popleft()


def _newest_by_key(events: deque[Event]) -> deque[Event]:
    newest = {(event.topic, event.key): event for event in events}
    return deque(event for event in events if newest[event.topic, event.key] is event)


class Hub:
    """Hands each event of the bus to the feeds that listen to its topic, and ends those that have missed some."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._feeds: dict[str, set[Feed]] = {}
        bus.connect(self._deliver, self._resynced)

    @asynccontextmanager
    async def feed(self, topics: Sequence[str]) -> AsyncIterator[Feed]:
        """A feed of all that comes on these topics from now on, for as long as the context lasts."""
        feed = Feed()
        for topic in topics:
            self._feeds.setdefault(topic, set()).add(feed)
        try:
            await self._bus.open(topics)
            yield feed
        finally:
            self._bus.unwatch([topic for topic in set(topics) if self._leave(topic, feed)])

    @property
    def listening(self) -> int:
        """How many feeds are open over all topics."""
        return sum(len(feeds) for feeds in self._feeds.values())

    def _leave(self, topic: str, feed: Feed) -> bool:
        """End a feed's listening to a topic; whether nobody listens to it any more."""
        listeners = self._feeds[topic]
        listeners.discard(feed)
        if not listeners:
            del self._feeds[topic]
        return not listeners

    def _deliver(self, event: Event) -> None:
        for feed in self._feeds.get(event.topic, ()):
            feed.put(event)

    def _resynced(self, topic: str, recovered: bool) -> None:
        if not recovered:
            for feed in self._feeds.get(topic, ()):
                feed.end()
