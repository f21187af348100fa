"""The components of a gateway for the time of a command, and the system in the application that the command names."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from wattgate.app.cli.database_context import require_existing, run_async
from wattgate.app.cli.database_failures import database_failures_reported
from wattgate.app.cli.reading_context import require_current
from wattgate.app.homes.applications import require_application
from wattgate.app.server.components import Components, build_components
from wattgate.app.settings import Settings
from wattgate.operations.core.operation import Operation
from wattgate.operations.core.runner import Runner
from wattgate.principal import Principal, Role

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


async def system_of(runner: Runner, application: str | None) -> Principal:
    """Return the system in the application with this name or ID. Without a text, take the only application."""
    found = require_application(await runner.list_applications(), application)
    return Principal(Role.SYSTEM, application_id=found.application_id)


def run_in(application: str, operation: Operation, arguments: Mapping[str, Any]) -> Any:
    """Run an operation as the system in the application with this name or ID, and return its result."""

    async def run(gateway: Any) -> Any:
        system = await system_of(gateway.runner, application)
        return await gateway.runner.run(operation, system, dict(arguments))

    return run_async(with_current_gateway(Settings(), run))
