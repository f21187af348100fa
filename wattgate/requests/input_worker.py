"""A thread for the validation of large inputs, so that it does not stop the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from wattgate.errors import Unavailable
from wattgate.principal import Principal
from wattgate.requests.fair_share import FairShare, NoFreeSlot, owner_of_caller
from wattgate.requests.request_limits import INLINE_BODY_BYTES

P = ParamSpec("P")
T = TypeVar("T")

MAX_WAITING = 32
"""Maximum large inputs that wait for the thread. Further ones are refused: each may hold megabytes."""


class InputWorker:
    """Validates inputs one after another, the large ones in a thread. Applications take turns there.

    The work of one input is bounded by `request_limits`, so the thread needs no time limit of its own.
    """

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="input-validation")
        self._turns = FairShare(1, share=1, max_waiting=MAX_WAITING)

    async def run(self, caller: Principal, size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of a function whose input has `size` bytes.

        Raise Unavailable if too many inputs wait, and the application of the caller has most of them.
        """
        if size <= INLINE_BODY_BYTES:
            return function(*args, **kwargs)
        owner = owner_of_caller(caller)
        try:
            await self._turns.take(owner)
        except NoFreeSlot:
            raise Unavailable("Too many large requests are waiting. Try again.", retry_after=1) from None
        try:
            work = self._executor.submit(function, *args, **kwargs)
        except BaseException:
            self._turns.give_back(owner)
            raise
        work.add_done_callback(lambda _: self._turns.give_back(owner))  # also when the caller waits no longer
        return await asyncio.wrap_future(work)
