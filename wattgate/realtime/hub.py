"""Who in this process listens to which topic."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from wattgate.metrics import CHANNELS
from wattgate.realtime.batches import Batches
from wattgate.realtime.bus import Bus
from wattgate.realtime.events import Event
from wattgate.realtime.subscriptions.event_queue import Feed


class Listener(Protocol):
    """Somebody to whom the events of some topics are handed, in order and at once."""

    def take(self, event: Event) -> None:
        """Take an event."""

    def lost(self, topic: str, position: str) -> None:
        """Take note that events of the topic were lost, and that it goes on from a position."""


class _Topic:
    """A topic that somebody listens to. `position` is None until it is known from where its events come."""

    __slots__ = ("listeners", "position")

    def __init__(self) -> None:
        self.listeners: dict[Listener, None] = {}
        self.position: str | None = None


class Hub:
    """Hands each event of the bus to those that listen to its topic, and tells those that have missed some."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._topics: dict[str, _Topic] = {}
        self._opening = Batches(self._open)
        self._reading = Batches(bus.read_since)
        bus.connect(self._deliver, self._resynced)

    def listen(self, listener: Listener, topics: Sequence[str]) -> None:
        """Hand what comes on these topics to a listener. `open` says from when on all of it comes."""
        for topic in topics:
            self._topics.setdefault(topic, _Topic()).listeners[listener] = None
        CHANNELS.set(len(self._topics))

    async def open(self, topics: Sequence[str]) -> list[str]:
        """Return once all events of these topics, which are listened to, come; their positions.

        Unavailable where the bus is away.
        """
        closed = [topic for topic in topics if self._topics[topic].position is None]
        if closed:
            await self._opening.ask(closed)
        return [str(self._topics[topic].position) for topic in topics]

    async def read_since(self, wanted: Sequence[tuple[str, str]]) -> Sequence[list[Event] | None]:
        """For each topic and position the kept events after it; see `Bus.read_since`."""
        return await self._reading.ask(wanted)

    def leave(self, listener: Listener, topics: Sequence[str]) -> None:
        """Hand a listener nothing more of these topics."""
        ended = []
        for topic in topics:
            listeners = self._topics[topic].listeners
            del listeners[listener]
            if not listeners:
                del self._topics[topic]
                ended.append(topic)
        if ended:
            self._bus.unwatch(ended)
            CHANNELS.set(len(self._topics))

    @asynccontextmanager
    async def feed(self, topics: Sequence[str]) -> AsyncIterator[Feed]:
        """A feed of all that comes on these topics from now on, for as long as the context lasts."""
        feed, names = Feed(), tuple(dict.fromkeys(topics))
        self.listen(feed, names)
        try:
            await self.open(names)
            yield feed
        finally:
            self.leave(feed, names)

    @property
    def listening(self) -> int:
        """How many listeners there are over all topics."""
        return sum(len(topic.listeners) for topic in self._topics.values())

    @property
    def channels(self) -> int:
        """How many topics are listened to."""
        return len(self._topics)

    async def _open(self, names: Sequence[str]) -> list[None]:
        wanted = {name: self._topics[name] for name in names if name in self._topics}
        for name, position in (await self._bus.open(list(wanted))).items():
            topic = self._topics.get(name)
            if topic is None:  # everybody has left in the meantime
                self._bus.unwatch([name])
            elif topic is wanted[name] and topic.position is None:
                topic.position = position
        return [None] * len(names)

    def _deliver(self, event: Event) -> None:
        topic = self._topics.get(event.topic)
        if topic is None:
            return
        if event.position is not None:
            topic.position = event.position
        for listener in tuple(topic.listeners):
            listener.take(event)

    def _resynced(self, name: str, recovered: bool, position: str) -> None:
        topic = self._topics.get(name)
        if topic is None or recovered:
            return
        topic.position = position
        for listener in tuple(topic.listeners):
            listener.lost(name, position)
