"""Wait for a state that nothing signals, such as the end of a process or of a connection."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_SECONDS = 60
"""The longest wait. A busy machine needs a small part of it."""


async def until(reached: Callable[[], bool]) -> None:
    """Wait until a condition holds. Raise TimeoutError if it does not."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not reached():  # noqa: ASYNC110 (nothing signals the state)
            await asyncio.sleep(0.001)


async def until_answer(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask again until the answer is true, or not empty, and return it. Raise TimeoutError if it does not come."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (answer := await ask()):  # noqa: ASYNC110 (nothing signals the state)
            await asyncio.sleep(0.05)
    return answer
