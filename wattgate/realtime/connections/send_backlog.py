"""The queue of messages for a client that does not read."""

import asyncio
from collections.abc import Iterator

from wattgate.realtime.connections.limits import ConnectionLimits


class ConflatingBuffer:
    """Queued messages by key. A later message replaces an earlier one with the same key, such as an older reading.

    `released` is set when the buffer is no longer in use, because the client reads again or is gone.
    """

    __slots__ = ("_bytes", "_limits", "_messages", "released")

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._messages: dict[object, bytes] = {}
        self._bytes = 0
        self.released = asyncio.Event()

    def add(self, key: object, message: bytes) -> bool:
        """Add a message. Return whether the buffer is still within its limits."""
        self._bytes += len(message) - len(self._messages.pop(key, b""))
        self._messages[key] = message
        return (
            len(self._messages) <= self._limits.max_backlog_messages and self._bytes <= self._limits.max_backlog_bytes
        )

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._messages.values())
