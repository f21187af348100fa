"""Helpers of the commands: consoles, and the components of a gateway for the time of a command."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from rich.console import Console, ConsoleDimensions

from wattgate.app.server.factory import Gateway, build_gateway
from wattgate.app.settings import Settings

T = TypeVar("T")

PIPE_WIDTH = 10_000
"""Columns of output that goes to a file or a pipe, which has no width. Rich would wrap and cut at 80."""


class CommandConsole(Console):
    """A console that neither wraps nor cuts lines unless a terminal shows them."""

    @property
    def size(self) -> ConsoleDimensions:
        """The columns and lines of the terminal, or of the pipe."""
        terminal = super().size
        return terminal if self.is_terminal else ConsoleDimensions(PIPE_WIDTH, terminal.height)


out = CommandConsole()
err = CommandConsole(stderr=True)


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
