"""A queue whose owners are served by the time that their work has taken: the one that used less goes first."""

from typing import Generic, TypeVar

from wattgate.requests.fair_share import FairQueue

T = TypeVar("T")


class TimeQueue(Generic[T]):
    """A queue of items of owners. The first item of the owner that has used least time is next.

    An owner that comes back after a pause has no advantage of it: it counts as if it had used as much time as the
    owner that was served last. So the queue only keeps the times of owners that are ahead of that.
    """

    def __init__(self) -> None:
        self._items: FairQueue[T] = FairQueue()
        self._used: dict[str, float] = {}
        """The time that each owner has used, in seconds, if it is more than `_least`."""
        self._least = 0.0
        """The time that the owner that was served last had used before."""

    def __bool__(self) -> bool:
        return bool(self._items)

    def count(self, owner: str) -> int:
        """Return the number of items of an owner."""
        return self._items.count(owner)

    def push(self, owner: str, item: T) -> None:
        """Add an item as the last one of its owner."""
        self._items.push(owner, item)

    def pop(self) -> tuple[str, T] | None:
        """Remove and return the next owner and its first item; None if nothing waits."""
        owners = self._items.owners()
        if not owners:
            return None
        least = min(map(self._time_of, owners))
        self._least = max(self._least, least)
        self._used = {owner: used for owner, used in self._used.items() if used > self._least}
        return self._items.pop(lambda owner: self._time_of(owner) <= self._least)

    def add_time(self, owner: str, seconds: float) -> None:
        """Record that the work of an owner has taken some seconds."""
        self._used[owner] = self._time_of(owner) + seconds

    def _time_of(self, owner: str) -> float:
        return max(self._used.get(owner, 0.0), self._least)
