"""The bus of a single process, without a server."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Self

from msgspec.structs import replace

from wattgate.clock import to_ms, utc_now
from wattgate.realtime.bus import (
    MIN_RETAINED_ENTRIES,
    MIN_RETAINED_SECONDS,
    TOPIC_LEASE_SECONDS,
    DeliverCallback,
    ResyncCallback,
)
from wattgate.realtime.events import Event

MAX_ENTRIES = 600
"""Maximum number of retained entries of a topic."""

MAX_UNWATCHED_TOPICS = 10_000
"""Maximum number of retained topics that are not open."""


class _Stream:
    """The newest entries of a topic. A new stream starts with a marker, which has a position but no event."""

    def __init__(self, marker: str, now: float) -> None:
        self._entries: deque[tuple[float, str, Event | None]] = deque([(now, marker, None)])

    @property
    def newest(self) -> str:
        return self._entries[-1][1]

    def add(self, event: Event, position: str, now: float) -> None:
        entries = self._entries
        entries.append((now, position, event))
        # the position of the oldest entry was current until the next entry was added, so the age of the next one counts
        while len(entries) > MAX_ENTRIES or (
            len(entries) > MIN_RETAINED_ENTRIES and entries[1][0] < now - MIN_RETAINED_SECONDS
        ):
            entries.popleft()

    def events_since(self, position: str) -> list[Event] | None:
        newer_events: list[Event] = []
        for _, entry_position, event in reversed(self._entries):
            if entry_position == position:
                return newer_events[::-1]
            if event is not None:
                newer_events.append(event)
        return None


class MemoryBus:
    """Deliver events within this process, synchronously. A position is the start of the process in ms and a counter."""

    is_shared = False

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._deliver: DeliverCallback | None = None
        self._now = now
        self._started_at_ms = to_ms(utc_now())
        self._count = 0
        self._streams: dict[str, _Stream] = {}
        self._watched: set[str] = set()
        self._unwatched_since: dict[str, float] = {}

    def set_callbacks(self, deliver: DeliverCallback, on_resync: ResyncCallback) -> None:
        self._deliver = deliver

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        return

    async def publish(self, events: Sequence[Event]) -> None:
        now = self._now()
        for event in events:
            stream = self._streams.get(event.topic)
            if stream is None:
                continue
            published = replace(event, position=self._next_position())
            stream.add(published, str(published.position), now)
            if self._deliver is not None and event.topic in self._watched:
                self._deliver(published)

    async def open_topics(self, topics: Sequence[str]) -> dict[str, str]:
        self._purge_unwatched()
        for topic in topics:
            self._watched.add(topic)
            self._unwatched_since.pop(topic, None)
            if topic not in self._streams:
                self._streams[topic] = _Stream(self._next_position(), self._now())
        return {topic: self._streams[topic].newest for topic in topics}

    def close_topics(self, topics: Sequence[str]) -> None:
        for topic in self._watched.intersection(topics):
            self._watched.discard(topic)
            self._unwatched_since[topic] = self._now()
        self._purge_unwatched()

    async def read_since(self, topic_positions: Sequence[tuple[str, str]]) -> list[list[Event] | None]:
        streams = [(self._streams.get(topic), position) for topic, position in topic_positions]
        return [None if stream is None else stream.events_since(position) for stream, position in streams]

    async def forget(self, topics: Sequence[str]) -> None:
        for topic in self._streams.keys() & set(topics):
            self._streams[topic] = _Stream(self._next_position(), self._now())

    @property
    def is_connected(self) -> bool:
        return True

    async def has_topic(self, topic: str) -> bool:
        return topic in self._streams

    async def check(self) -> None:
        return

    async def find_problems(self) -> list[str]:
        return []

    @property
    def retained_topic_count(self) -> int:
        """The number of topics whose events are retained."""
        return len(self._streams)

    def _next_position(self) -> str:
        self._count += 1
        return f"{self._started_at_ms}-{self._count}"

    def _purge_unwatched(self) -> None:
        """Drop topics that have not been open for longer than the lease, and the oldest ones above the maximum."""
        expired_before = self._now() - TOPIC_LEASE_SECONDS
        while self._unwatched_since and (
            len(self._unwatched_since) > MAX_UNWATCHED_TOPICS
            or next(iter(self._unwatched_since.values())) < expired_before
        ):
            topic = next(iter(self._unwatched_since))
            del self._unwatched_since[topic], self._streams[topic]
