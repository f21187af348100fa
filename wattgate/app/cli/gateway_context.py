"""Helpers of the commands: consoles, and the components of a gateway for the time of a command."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from rich.console import Console, ConsoleDimensions
from sqlalchemy.exc import SQLAlchemyError

from wattgate.app.server.factory import Gateway, build_gateway
from wattgate.app.settings import Settings
from wattgate.db.migrate import is_current
from wattgate.errors import Conflict, Unavailable

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

    @size.setter
    def size(self, new_size: tuple[int, int]) -> None:
        self._width, self._height = new_size


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


@contextmanager
def unreachable_database_reported() -> Iterator[None]:
    """Raise Unavailable, with what to check, if the first statement on the database fails."""
    try:
        yield
    except (SQLAlchemyError, OSError) as error:
        raise Unavailable(
            f"The database does not answer: {error}. Check WATTGATE_DATABASE_URL, and run `wattgate doctor`."
        ) from None


async def with_current_gateway(settings: Settings, work: Callable[[Gateway], Awaitable[T]]) -> T:
    """Run `work` as `with_gateway` does. Raise Conflict unless the database has the schema of this version."""

    async def check_and_work(gateway: Gateway) -> T:
        with unreachable_database_reported():
            is_ready = await is_current(gateway.database)
        if not is_ready:
            raise Conflict("The database does not have the schema of this version. Run `wattgate db upgrade` first.")
        return await work(gateway)

    return await with_gateway(settings, check_and_work)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a new event loop and return its result."""
    return asyncio.run(work)
