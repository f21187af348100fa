"""Listeners of this process by topic: dispatch of events from the bus."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from wattgate.metrics import WATCHED_TOPICS
from wattgate.realtime.bus import Bus
from wattgate.realtime.event_queue import EventQueue
from wattgate.realtime.events import Event
from wattgate.realtime.request_batcher import RequestBatcher


class Listener(Protocol):
    """A receiver of the events of some topics, in order. The hub calls it synchronously."""

    def on_event(self, event: Event) -> None:
        """Handle an event."""

    def on_events_lost(self, topic: str, position: str) -> None:
        """Handle a loss of events: the topic continues after `position`, and events before it are missing."""


class _HubTopic:
    """A topic with listeners. `position` is None until the bus has opened the topic."""

    __slots__ = ("listeners", "position")

    def __init__(self) -> None:
        self.listeners: dict[Listener, None] = {}
        self.position: str | None = None


class Hub:
    """Pass each event of the bus to the listeners of its topic, and report losses of events to them."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._topics: dict[str, _HubTopic] = {}
        self._open_batcher = RequestBatcher(self._open_on_bus)
        self._read_batcher = RequestBatcher(bus.read_since)
        bus.set_callbacks(self._dispatch, self._on_resync)

    def add_listener(self, listener: Listener, topics: Sequence[str]) -> None:
        """Pass events on these topics to a listener. Events may be missing until `open_topics` has returned."""
        for topic in topics:
            self._topics.setdefault(topic, _HubTopic()).listeners[listener] = None
        WATCHED_TOPICS.set(len(self._topics))

    def is_open(self, topic: str) -> bool:
        """Return whether the bus has opened a topic, so that its events are dispatched."""
        opened = self._topics.get(topic)
        return opened is not None and opened.position is not None

    async def open_topics(self, topics: Sequence[str]) -> list[str]:
        """Open topics that have listeners, and return their positions. All events after these positions are dispatched.

        Raise Unavailable if the bus is unavailable.
        """
        requested = [self._topics[topic] for topic in topics]  # a listener may leave a topic while it is opened
        closed = [name for name, topic in zip(topics, requested, strict=True) if topic.position is None]
        if closed:
            await self._open_batcher.submit(closed)
        return [str(topic.position) for topic in requested]

    async def read_since(self, topic_positions: Sequence[tuple[str, str]]) -> Sequence[list[Event] | None]:
        """Return the retained events after each topic position; see `Bus.read_since`."""
        return await self._read_batcher.submit(topic_positions)

    def remove_listener(self, listener: Listener, topics: Sequence[str]) -> None:
        """Stop passing events on these topics to a listener. Close the topics that have no other listener."""
        unused_topics = []
        for topic in topics:
            listeners = self._topics[topic].listeners
            del listeners[listener]
            if not listeners:
                del self._topics[topic]
                unused_topics.append(topic)
        if unused_topics:
            self._bus.close_topics(unused_topics)
            WATCHED_TOPICS.set(len(self._topics))

    @asynccontextmanager
    async def open_queue(self, topics: Sequence[str]) -> AsyncIterator[EventQueue]:
        """Provide a queue of all events on these topics from now on, until the context ends."""
        queue, unique_topics = EventQueue(), tuple(dict.fromkeys(topics))
        self.add_listener(queue, unique_topics)
        try:
            await self.open_topics(unique_topics)
            yield queue
        finally:
            self.remove_listener(queue, unique_topics)

    @property
    def listener_count(self) -> int:
        """The number of listeners over all topics. A listener counts once for each of its topics."""
        return sum(len(topic.listeners) for topic in self._topics.values())

    @property
    def topic_count(self) -> int:
        """The number of topics with listeners."""
        return len(self._topics)

    async def _open_on_bus(self, names: Sequence[str]) -> list[None]:
        requested = {name: self._topics[name] for name in names if name in self._topics}
        for name, position in (await self._bus.open_topics(list(requested))).items():
            topic = self._topics.get(name)
            if topic is None:  # the last listener was removed in the meantime
                self._bus.close_topics([name])
            elif topic is requested[name] and topic.position is None:
                topic.position = position
        return [None] * len(names)

    def _dispatch(self, event: Event) -> None:
        topic = self._topics.get(event.topic)
        if topic is None:
            return
        if event.position is not None:
            topic.position = event.position
        for listener in tuple(topic.listeners):
            listener.on_event(event)

    def _on_resync(self, name: str, recovered: bool, position: str) -> None:
        topic = self._topics.get(name)
        if topic is None or recovered:
            return
        topic.position = position
        for listener in tuple(topic.listeners):
            listener.on_events_lost(name, position)
