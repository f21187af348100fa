"""Let other requests run during loops over many items, and end loops whose task is cancelled."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from itertools import islice
from time import perf_counter
from typing import TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")
Converted = TypeVar("Converted")

PAUSE_ITEMS = 1_000
"""Number of items between two pauses. Their work must take well below 100 ms, the limit of a stall of the loop."""

MAX_HELD_SECONDS = 0.002
"""Time between two pauses of loops whose items differ much in their work. A pause takes about 15 µs."""


class _Turns:
    """The tasks of an event loop that pause. One of them continues in each step of the loop, in order.

    Without turns, the parts of all loops at the same time run in one step, such as those of 50 aliases of a document.
    """

    __slots__ = ("_is_scheduled", "_waiting")

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_scheduled = False

    async def wait(self) -> None:
        """Wait for the turn of this task."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._waiting.append(turn)
        if not self._is_scheduled:
            self._is_scheduled = True
            loop.call_soon(self._wake_next, loop)
        await turn

    def _wake_next(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # its task may be cancelled
                turn.set_result(None)
                break
        self._is_scheduled = bool(self._waiting)
        if self._is_scheduled:
            loop.call_soon(self._wake_next, loop)


_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, _Turns] = WeakKeyDictionary()

_resumed_at = 0.0
"""When a task last continued after a pause."""


async def pause() -> None:
    """Let the other tasks of the event loop run. Tasks that pause at the same time continue one after another."""
    global _resumed_at
    loop = asyncio.get_running_loop()
    turns = _TURNS.get(loop)
    if turns is None:
        turns = _TURNS[loop] = _Turns()
    await turns.wait()
    _resumed_at = perf_counter()


def is_pause_due() -> bool:
    """Return whether no task has paused for `MAX_HELD_SECONDS`. Call it between items whose work differs much.

    The time is one for all tasks. Of many tasks that begin together, each pauses after its first item, and they go on
    in turns.
    """
    return perf_counter() - _resumed_at > MAX_HELD_SECONDS


async def with_pauses(items: Iterable[T]) -> AsyncIterator[T]:
    """Yield the items, and pause after every `PAUSE_ITEMS` items."""
    for number, item in enumerate(items, 1):
        yield item
        if number % PAUSE_ITEMS == 0:
            await pause()


async def collect(items: Iterable[T]) -> list[T]:
    """Return the items as a list, and pause after every `PAUSE_ITEMS` items."""
    iterator = iter(items)
    collected = list(islice(iterator, PAUSE_ITEMS))
    if len(collected) == PAUSE_ITEMS:
        async for part in slices(iterator):
            collected += part
    return collected


async def pause_for(items: int) -> None:
    """Pause before the work on so many items, if they are at least `PAUSE_ITEMS`."""
    if items >= PAUSE_ITEMS:
        await pause()


async def convert_all(
    items: Sequence[T], convert: Callable[[T], Converted], *, pause_items: int = PAUSE_ITEMS
) -> list[Converted]:
    """Return each item as `convert` returns it, and pause after every `pause_items` items."""
    converted = [convert(item) for item in items[:pause_items]]
    for start in range(pause_items, len(items), pause_items):
        await pause()
        converted += [convert(item) for item in items[start : start + pause_items]]
    return converted


async def slices(items: Iterable[T]) -> AsyncIterator[list[T]]:
    """Yield the items in lists of at most `PAUSE_ITEMS`, and pause after each list.

    Use it for items that take about a microsecond, for which a step of `with_pauses` would cost as much.
    """
    iterator = iter(items)
    while part := list(islice(iterator, PAUSE_ITEMS)):
        yield part
        await pause()


def raise_if_cancelled() -> None:
    """Raise CancelledError if the current task was asked to end, although the request was lost below.

    A library can lose it in two ways: `asyncio.wait_for` of Python 3.11 drops it if the awaited future is done at the
    same moment, and an exception of a context manager that exits replaces it. A loop that catches the exceptions of
    its work calls this function before it goes on. Otherwise the loop, and what waits for its end, would never end.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
