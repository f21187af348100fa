"""Carry out `wattgate serve`: serve in this process, or start the processes that serve."""

import typer

from wattgate.app.cli.commands.dispatch import import_at_start
from wattgate.app.cli.consoles import err
from wattgate.app.cli.database_context import require_ready_database
from wattgate.app.observability import logs
from wattgate.app.server.launcher import launch
from wattgate.app.settings import Settings


def serve_gateway(*, workers: int) -> None:
    """Serve the gateway on WATTGATE_HOST and WATTGATE_PORT until SIGTERM or SIGINT."""
    settings = Settings()
    if workers > 1 and settings.redis_url is None:
        err.print("Several workers need Redis, which carries live events between them. Set WATTGATE_REDIS_URL.")
        raise typer.Exit(2)
    require_ready_database(settings)
    logs.configure_logging(settings)
    if workers > 1:
        raise typer.Exit(launch(settings, workers))
    # the launcher does without this module
    import_at_start("wattgate.app.cli.actions.gateway.server_process").serve_alone(settings)
