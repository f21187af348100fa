"""A bounded queue of events for one reader, which drops superseded events when it is full."""

import asyncio
from collections import deque

from wattgate.errors import Unavailable
from wattgate.realtime.events import Event

MAX_QUEUED_EVENTS = 1024
"""Initial bound of the queue. Above it, newer events replace older ones with the same topic and key."""


class EventQueue:
    """The events of some topics for one reader, in order.

    When more than `max_events` are queued, the queue keeps only the newest event of each topic and key. It then raises
    the bound to twice the number of kept events if that is more, so that this remains rare.
    """

    def __init__(self, max_events: int = MAX_QUEUED_EVENTS) -> None:
        self._max_events = max_events
        self._events: deque[Event] = deque()
        self._wakeup = asyncio.Event()
        self._has_lost_events = False

    def on_event(self, event: Event) -> None:
        """Add an event to the queue."""
        if self._has_lost_events:
            return
        self._events.append(event)
        if len(self._events) > self._max_events:
            self._events = _newest_by_key(self._events)
            self._max_events = max(self._max_events, 2 * len(self._events))
        self._wakeup.set()

    def on_events_lost(self, topic: str, position: str) -> None:
        """Accept no more events. `get` raises Unavailable after the queued ones."""
        self._has_lost_events = True
        self._wakeup.set()

    @property
    def pending_count(self) -> int:
        """The number of queued events."""
        return len(self._events)

    async def get(self) -> Event:
        """Wait for the next event and return it. Raise Unavailable when events were lost after the last queued one."""
        while not self._events:
            if self._has_lost_events:
                raise events_lost_error()
            self._wakeup.clear()
            await self._wakeup.wait()
        return self._events.popleft()


def events_lost_error() -> Unavailable:
    """Return the error that ends a subscription which cannot continue after a loss of events."""
    return Unavailable("Some events were lost. Subscribe again.", retry_after=1)


def _newest_by_key(events: deque[Event]) -> deque[Event]:
    newest = {(event.topic, event.key): event for event in events}
    return deque(event for event in events if newest[event.topic, event.key] is event)
