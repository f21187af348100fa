"""Events that wait for one who takes them when it can."""

import asyncio
from collections import deque

from wattgate.errors import Unavailable
from wattgate.realtime.events import Event

MAX_QUEUED_EVENTS = 1024
"""How many events wait for a slow reader before older ones give way to newer ones of the same key."""


class EventQueue:
    """The events of some topics for one listener, in order.

    When more than `bound` wait, all but the newest of each topic and key are dropped; the bound is at least
    twice the count of those, so that dropping stays rare.
    """

    def __init__(self, max_events: int = MAX_QUEUED_EVENTS) -> None:
        self._max_events = max_events
        self._events: deque[Event] = deque()
        self._wakeup = asyncio.Event()
        self._has_lost_events = False

    def on_event(self, event: Event) -> None:
        """Let an event wait."""
        if self._has_lost_events:
            return
        self._events.append(event)
        if len(self._events) > self._max_events:
            self._events = _newest_by_key(self._events)
            self._max_events = max(self._max_events, 2 * len(self._events))
        self._wakeup.set()

    def on_events_lost(self, topic: str, position: str) -> None:
        """Take no more events, because some were lost."""
        self._has_lost_events = True
        self._wakeup.set()

    @property
    def pending_count(self) -> int:
        """How many events wait to be taken."""
        return len(self._events)

    async def get(self) -> Event:
        """The next event, as soon as there is one. Unavailable after the last one before some that were lost."""
        while not self._events:
            if self._has_lost_events:
                raise Unavailable("some events were lost; ask again", retry_after=1)
            self._wakeup.clear()
            await self._wakeup.wait()
        return self._events.popleft()


def _newest_by_key(events: deque[Event]) -> deque[Event]:
    newest = {(event.topic, event.key): event for event in events}
    return deque(event for event in events if newest[event.topic, event.key] is event)
