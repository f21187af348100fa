"""Hold the slots of bounds, so that a test decides how long callers wait for one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from wattgate.requests.fair_share import FairShare

WAIT_SECONDS = 60
"""Maximum wait for callers, in seconds. It only ends a broken test."""


@asynccontextmanager
async def all_taken(*shares: FairShare) -> AsyncIterator[None]:
    """Hold all slots of some bounds until the context exits, each for an owner of its own."""
    async with AsyncExitStack() as stack:
        for share in shares:
            number = 0
            while share.try_take(f"owner {number}"):
                stack.callback(share.give_back, f"owner {number}")
                number += 1
        yield


async def until_waiting(share: FairShare, count: int) -> None:
    """Wait until this number of callers waits for a slot."""
    async with asyncio.timeout(WAIT_SECONDS):
        while len(share._waiting) < count:  # noqa: ASYNC110 (callers begin to wait without an event)
            await asyncio.sleep(0.01)
