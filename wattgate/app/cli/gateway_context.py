"""The components of a gateway for the time of a command."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from wattgate.app.cli.database_context import require_existing
from wattgate.app.cli.database_failures import database_failures_reported
from wattgate.app.cli.reading_context import require_current
from wattgate.app.server.components import Components, build_components
from wattgate.app.settings import Settings

T = TypeVar("T")


async def with_gateway(settings: Settings, work: Callable[[Components], Awaitable[T]]) -> T:
    """Run `work` with the components of a gateway, then close its bus and database.

    Raise Unavailable, with what to check, if the database cannot be used.
    """
    with database_failures_reported(settings):
        gateway = build_components(settings)
        try:
            async with gateway.bus:
                return await work(gateway)
        finally:
            await gateway.database.close()


async def with_current_gateway(settings: Settings, work: Callable[[Components], Awaitable[T]]) -> T:
    """Run `work` as `with_gateway` does. Raise Conflict unless the database has the schema of this version."""

    require_existing(settings)

    async def check_and_work(gateway: Components) -> T:
        await require_current(gateway.database)
        return await work(gateway)

    return await with_gateway(settings, check_and_work)
