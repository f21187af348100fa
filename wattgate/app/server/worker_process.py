"""`wattgate worker`: a process that delivers, and does nothing else."""

import asyncio
import logging
import signal

from wattgate.app.server.factory import Gateway
from wattgate.app.settings import Settings
from wattgate.app.workers.deliveries import DeliveryWorker
from wattgate.app.workers.delivery_handlers import create_delivery_handlers

log = logging.getLogger(__name__)

GRACE_SECONDS = 10.0
"""Seconds that deliveries under way have after a signal, before they are given back."""


async def run_worker(settings: Settings, gateway: Gateway) -> None:
    """Deliver until a signal comes, and a little longer for what is under way."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signal_number, stopping.set)
    worker = DeliveryWorker(
        gateway.runner,
        gateway.hub,
        create_delivery_handlers(settings, gateway.runner),
        lease=settings.delivery_lease,
        grace=GRACE_SECONDS,
    )
    task = asyncio.create_task(worker.run())
    log.info("delivering as %s", worker.worker_id)
    await stopping.wait()
    log.info("ending: what is under way has %g seconds", GRACE_SECONDS)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    log.info("ended")
