"""Let other requests run during loops over many items."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

PAUSE_ITEMS = 1_000
"""Number of items between two pauses. Their work must take well below 100 ms, the limit of a stall of the loop."""


async def pause() -> None:
    """Let the other tasks of the event loop run."""
    await asyncio.sleep(0)


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


async def slices(items: Iterable[T]) -> AsyncIterator[list[T]]:
    """Yield the items in lists of at most `PAUSE_ITEMS`, and pause after each list.

    Use it for items that take about a microsecond, for which a step of `with_pauses` would cost as much.
    """
    iterator = iter(items)
    while part := list(islice(iterator, PAUSE_ITEMS)):
        yield part
        await pause()
