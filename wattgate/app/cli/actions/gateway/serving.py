"""Carry out `wattgate serve`: in this process, or in several."""

import socket
from typing import NoReturn

import typer
from starlette.applications import Starlette

from wattgate.app.cli.commands.dispatch import import_at_start
from wattgate.app.cli.consoles import err
from wattgate.app.cli.database_context import require_ready_database
from wattgate.app.observability import logs
from wattgate.app.observability.http_metrics import start_metrics_server
from wattgate.app.server.edge.serving import bind_sockets, serve
from wattgate.app.server.factory import create_app
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
    import_at_start("wattgate.app.cli.actions.gateway.serving").serve_alone(settings)


# Serve in this process: alone, or as one of several workers.


def serve_alone(settings: Settings) -> NoReturn:
    """Serve the gateway until SIGTERM or SIGINT, then exit."""
    sockets = bind_sockets(settings.host, settings.port)
    serve_in_process(settings, create_app(settings), sockets)


def serve_one(*, channel_fd: int, worker_index: int) -> None:
    """Serve as one of several workers that `wattgate serve --workers` started."""
    settings = Settings()
    if worker_index > 0:
        settings = settings.model_copy(update={"mqtt_url": None})
    logs.configure_logging(settings)
    launcher_socket = socket.socket(fileno=channel_fd)
    sockets = bind_sockets(settings.host, settings.port, shared=True)
    raise typer.Exit(serve(create_app(settings), settings, sockets, launcher_socket))


def serve_in_process(settings: Settings, application: Starlette, sockets: list[socket.socket]) -> NoReturn:
    """Serve on bound sockets in this process until SIGTERM or SIGINT, then exit."""
    start_metrics_server(settings)
    raise typer.Exit(serve(application, settings, sockets))
