"""Helpers of the commands: consoles, and the components of a gateway for the time of a command."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from rich.console import Console

from wattgate.app.server.factory import Gateway, build_gateway
from wattgate.app.settings import Settings

T = TypeVar("T")

out = Console()
err = Console(stderr=True)


async def with_gateway(settings: Settings, work: Callable[[Gateway], Awaitable[T]]) -> T:
    """Run `work` with the components of a gateway, then close its bus and database."""
    gateway = build_gateway(settings)
    try:
        async with gateway.bus:
            return await work(gateway)
    finally:
        await gateway.database.close()


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a new event loop and return its result."""
    return asyncio.run(work)
