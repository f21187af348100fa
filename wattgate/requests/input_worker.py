"""A thread for the validation of large inputs, so that it does not stop the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from wattgate.errors import Unavailable
from wattgate.requests.request_limits import INLINE_BODY_BYTES

P = ParamSpec("P")
T = TypeVar("T")

MAX_WAITING = 32
"""Maximum large inputs that wait for the thread. Further ones are refused: each may hold megabytes."""


class InputWorker:
    """Validates inputs one after another, the large ones in a thread.

    The work of one input is bounded by `request_limits`, so the thread needs no time limit of its own.
    """

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="input-validation")
        self._waiting = 0

    async def run(self, size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of a function whose input has `size` bytes. Raise Unavailable if too many inputs wait."""
        if size <= INLINE_BODY_BYTES:
            return function(*args, **kwargs)
        if self._waiting >= MAX_WAITING:
            raise Unavailable("Too many large requests are waiting. Try again.", retry_after=1)
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._executor, lambda: function(*args, **kwargs))
        finally:
            self._waiting -= 1
