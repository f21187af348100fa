"""What waits for a peer that does not read."""

import asyncio
from collections.abc import Iterator

from wattgate.realtime.connections.limits import Limits


class Held:
    """Messages by what they are about, so that a later reading takes the place of an earlier one.

    `over` is set when they wait no longer, because the peer reads or because it is gone.
    """

    __slots__ = ("_bytes", "_limits", "_messages", "over")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._messages: dict[object, bytes] = {}
        self._bytes = 0
        self.over = asyncio.Event()

    def keep(self, key: object, message: bytes) -> bool:
        """Keep a message; whether that is still within the limits."""
        self._bytes += len(message) - len(self._messages.pop(key, b""))
        self._messages[key] = message
        return len(self._messages) <= self._limits.held_messages and self._bytes <= self._limits.held_bytes

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._messages.values())
