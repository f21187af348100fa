"""Carry out `wattgate worker`: a process that only sends deliveries."""

import asyncio
import logging
import signal

from wattgate.app.cli.database_context import require_ready_database, run_async
from wattgate.app.cli.gateway_context import with_gateway
from wattgate.app.observability import logs
from wattgate.app.observability.http_metrics import start_metrics_server
from wattgate.app.server.components import Components
from wattgate.app.settings import Settings
from wattgate.app.workers.background import run_server_checks
from wattgate.app.workers.deliveries import DeliveryWorker
from wattgate.app.workers.delivery_handlers import create_delivery_handlers
from wattgate.realtime.hub import Hub

log = logging.getLogger(__name__)

GRACE_SECONDS = 10.0
"""Seconds that running deliveries have after a signal. Then the worker releases them for other workers."""


def worker() -> None:
    """Deliver mail, pushes and webhooks until SIGTERM or SIGINT."""
    settings = Settings()
    require_ready_database(settings)
    logs.configure_logging(settings)
    start_metrics_server(settings)
    run_async(with_gateway(settings, lambda gateway: run_worker(settings, gateway)))


async def run_worker(settings: Settings, components: Components) -> None:
    """Deliver until SIGTERM or SIGINT, then give running deliveries GRACE_SECONDS to finish."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signal_number, stopping.set)
    worker = DeliveryWorker(
        components.runner,
        Hub(components.bus),
        create_delivery_handlers(settings, components.runner),
        lease=settings.delivery_lease,
        grace=GRACE_SECONDS,
    )
    tasks = [
        asyncio.create_task(worker.run()),
        asyncio.create_task(run_server_checks(components.database, components.bus)),
    ]
    log.info("Delivering as worker %s", worker.worker_id)
    await stopping.wait()
    log.info("Stopping: running deliveries have %g s to finish", GRACE_SECONDS)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    log.info("Stopped")
