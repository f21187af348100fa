"""What was found lately, so that it is not looked up again."""

from collections.abc import Callable, Hashable
from time import monotonic
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Lately(Generic[K, V]):
    """Values by keys: none is older than so many seconds, and there are at most so many."""

    def __init__(self, *, most: int, seconds: float, time: Callable[[], float] = monotonic) -> None:
        self._most = most
        self._seconds = seconds
        self._time = time
        self._found: dict[K, tuple[V, float]] = {}

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: K) -> V | None:
        """What was found; None where that was too long ago, or never."""
        found = self._found.get(key)
        return found[0] if found and self._time() < found[1] else None

    def put(self, key: K, value: V) -> None:
        """Keep what was found now. The oldest gives way."""
        self._found.pop(key, None)
        if len(self._found) >= self._most:
            del self._found[next(iter(self._found))]
        self._found[key] = value, self._time() + self._seconds
