"""What commands share: where they write, and a gateway's parts for as long as one runs."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from rich.console import Console

from wattgate.app.server.factory import Gateway, assemble
from wattgate.app.settings import Settings

T = TypeVar("T")

out = Console()
err = Console(stderr=True)


async def with_gateway(settings: Settings, work: Callable[[Gateway], Awaitable[T]]) -> T:
    """Do something with a gateway's parts, and close what that opened."""
    gateway = assemble(settings)
    try:
        async with gateway.bus:
            return await work(gateway)
    finally:
        await gateway.database.close()


def run(work: Coroutine[Any, Any, T]) -> T:
    """Do something asynchronous, and wait for it."""
    return asyncio.run(work)
