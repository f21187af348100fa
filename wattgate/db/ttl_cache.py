"""A cache with limits of age, number and weight."""

from collections.abc import Callable, Hashable
from math import inf
from time import monotonic
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class TtlCache(Generic[K, V]):
    """Values by key, with at most `max_entries` entries and `max_weight` total weight.

    `weigh` returns the weight of a value. An entry expires `ttl_seconds` after `put`. If a limit is exceeded, the least
    recently used entries are evicted. `time` returns seconds of a monotonic clock.
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
        """Return the value of a key; None if it is missing or expired."""
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
        """Store a value. A value that is heavier than `max_weight` is not stored."""
        self.discard(key)
        weight = self._weigh(value)
        if weight > self._max_weight:
            return
        while self._entries and (len(self._entries) >= self._max_entries or self.weight + weight > self._max_weight):
            self.discard(next(iter(self._entries)))
        self._entries[key] = value, self._time() + self._ttl_seconds
        self.weight += weight

    def clear(self) -> None:
        """Remove all values."""
        self._entries.clear()
        self.weight = 0

    def discard(self, key: K) -> None:
        """Remove the value of a key, if there is one."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.weight -= self._weigh(entry[0])
