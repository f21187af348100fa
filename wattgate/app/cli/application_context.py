"""The application that a command names, by its name or ID, and operations as the system in it."""

from collections.abc import Mapping
from typing import Any

from wattgate.app.cli.database_context import run_async
from wattgate.app.cli.gateway_context import with_current_gateway
from wattgate.app.homes.applications import require_application
from wattgate.app.settings import Settings
from wattgate.operations.core.operation import Operation
from wattgate.operations.core.runner import Runner
from wattgate.principal import Principal, Role


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
