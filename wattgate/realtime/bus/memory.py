"""The bus of a single process."""

from collections.abc import Sequence

from wattgate.realtime.bus import Deliver
from wattgate.realtime.events import Event


class MemoryBus:
    """Delivers within this process, at once. Nothing is kept."""

    def __init__(self) -> None:
        self._deliver: Deliver | None = None
        self._watched: set[str] = set()

    def connect(self, deliver: Deliver) -> None:
        self._deliver = deliver

    async def publish(self, events: Sequence[Event]) -> None:
        if self._deliver is None:
            return
        for event in events:
            if event.topic in self._watched:
                self._deliver(event)

    async def watch(self, topic: str) -> None:
        self._watched.add(topic)

    async def unwatch(self, topic: str) -> None:
        self._watched.discard(topic)
