"""What was found lately, so that it is not looked up again."""

from collections.abc import Callable, Hashable
from math import inf
from time import monotonic
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Lately(Generic[K, V]):
    """Values by keys: at most so many, which together weigh at most so much, and none older than so many seconds.

    What was not asked for longest gives way.
    """

    def __init__(
        self,
        *,
        most: int,
        heaviest: float = inf,
        weigh: Callable[[V], int] = lambda value: 0,
        seconds: float = inf,
        time: Callable[[], float] = monotonic,
    ) -> None:
        self._most = most
        self._heaviest = heaviest
        self._weigh = weigh
        self._seconds = seconds
        self._time = time
        self._found: dict[K, tuple[V, float]] = {}
        self.weight = 0

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: K) -> V | None:
        """What was found; None where that was too long ago, or never."""
        found = self._found.pop(key, None)
        if found is None:
            return None
        value, until = found
        if self._time() >= until:
            self.weight -= self._weigh(value)
            return None
        self._found[key] = found
        return value

    def put(self, key: K, value: V) -> None:
        """Keep what was found now. What is too heavy by itself is not kept."""
        self.drop(key)
        weight = self._weigh(value)
        if weight > self._heaviest:
            return
        while self._found and (len(self._found) >= self._most or self.weight + weight > self._heaviest):
            self.drop(next(iter(self._found)))
        self._found[key] = value, self._time() + self._seconds
        self.weight += weight

    def drop(self, key: K) -> None:
        """Forget a value."""
        found = self._found.pop(key, None)
        if found is not None:
            self.weight -= self._weigh(found[0])
