"""What was found lately, so that it is not looked up again."""

from collections.abc import Callable, Hashable
from math import inf
from time import monotonic
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class TtlCache(Generic[K, V]):
    """Values by keys: at most so many, which together weigh at most so much, and none older than so many seconds.

    What was not asked for longest gives way.
    """

    def __init__(
        self,
        *,
        max_entries: int,
        max_weight: float = inf,
        weigh: Callable[[V], int] = lambda value: 0,
        ttl_seconds: float = inf,
        time: Callable[[], float] = monotonic,
    ) -> None:
        self._max_entries = max_entries
        self._max_weight = max_weight
        self._weigh = weigh
        self._ttl_seconds = ttl_seconds
        self._time = time
        self._entries: dict[K, tuple[V, float]] = {}
        self.weight = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """What was found; None where that was too long ago, or never."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        value, expires_at = entry
        if self._time() >= expires_at:
            self.weight -= self._weigh(value)
            return None
        self._entries[key] = entry
        return value

    def put(self, key: K, value: V) -> None:
        """Keep what was found now. What is too heavy by itself is not kept."""
        self.discard(key)
        weight = self._weigh(value)
        if weight > self._max_weight:
            return
        while self._entries and (len(self._entries) >= self._max_entries or self.weight + weight > self._max_weight):
            self.discard(next(iter(self._entries)))
        self._entries[key] = value, self._time() + self._ttl_seconds
        self.weight += weight

    def discard(self, key: K) -> None:
        """Forget a value."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.weight -= self._weigh(entry[0])
