"""Threads for the work of a request that would hold the event loop: encoding, compression, digests, decoding."""

from collections.abc import Callable
from typing import TypeVar

from wattgate.requests.fair_share import NO_OWNER, FairThreads, owner_of_caller
from wattgate.requests.request_context import CURRENT_PRINCIPAL

T = TypeVar("T")

REQUEST_THREADS = FairThreads(4, share=3, name="requests")
"""The threads of the process. One application has all but one. The interpreter runs one at a time in any case."""


async def run_in_thread(work: Callable[[], T]) -> T:
    """Return the result of work in a thread that the application of the current caller has. Wait for it in turn."""
    caller = CURRENT_PRINCIPAL.get()
    return await REQUEST_THREADS.run(NO_OWNER if caller is None else owner_of_caller(caller), work)
