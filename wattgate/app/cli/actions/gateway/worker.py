"""Carry out `wattgate worker`."""

from wattgate.app.cli.database_context import require_ready_database, run_async
from wattgate.app.cli.gateway_context import with_gateway
from wattgate.app.observability import logs
from wattgate.app.observability.http_metrics import start_metrics_server
from wattgate.app.server.worker_process import run_worker
from wattgate.app.settings import Settings


def worker() -> None:
    """Deliver mail, pushes and webhooks until SIGTERM or SIGINT."""
    settings = Settings()
    require_ready_database(settings)
    logs.configure_logging(settings)
    start_metrics_server(settings)
    run_async(with_gateway(settings, lambda gateway: run_worker(settings, gateway)))
