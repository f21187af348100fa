"""A topic that the Redis bus has open."""

from collections import deque

from wattgate.realtime.bus.redis_client import StreamEntry, stream_key


class WatchedTopic:
    """An open topic.

    `last_position` is the position of the last delivered entry, or the one that `open_topics` returned. It is None
    until then. Messages up to `known_until` are duplicates; it is None when no duplicate can arrive. `pending` collects
    messages during an interruption; it is None while messages are delivered directly.
    """

    __slots__ = ("key", "known_until", "last_position", "name", "pending")

    def __init__(self, name: str) -> None:
        self.name = name
        self.key = stream_key(name)
        self.last_position: str | None = None
        self.known_until: str | None = None
        self.pending: deque[StreamEntry] | None = None
