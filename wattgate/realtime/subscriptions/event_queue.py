"""Events that wait for one who takes them when it can."""

import asyncio
from collections import deque

from wattgate.errors import Unavailable
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

    def take(self, event: Event) -> None:
        """Let an event wait."""
        if self._ended:
            return
        self._waiting.append(event)
        if len(self._waiting) > self._bound:
            self._waiting = _newest_by_key(self._waiting)
            self._bound = max(self._bound, 2 * len(self._waiting))
        self._arrived.set()

    def lost(self, topic: str, position: str) -> None:
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
