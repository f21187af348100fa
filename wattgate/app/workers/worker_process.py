"""`wattgate worker`: a process that delivers, and does nothing else."""

import asyncio
import logging
import signal

from wattgate.app.server.factory import Gateway
from wattgate.app.settings import Settings
from wattgate.app.workers.deliveries import Deliveries
from wattgate.app.workers.delivery_handlers import carriers

log = logging.getLogger(__name__)

GRACE = 10.0
"""Seconds that deliveries under way have after a signal, before they are given back."""


async def work(settings: Settings, gateway: Gateway) -> None:
    """Deliver until a signal comes, and a little longer for what is under way."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for one in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(one, stopping.set)
    made = Deliveries(
        gateway.runner, gateway.hub, carriers(settings, gateway.runner), lease=settings.delivery_lease, grace=GRACE
    )
    task = asyncio.create_task(made.run())
    log.info("delivering as %s", made.worker)
    await stopping.wait()
    log.info("ending: what is under way has %g seconds", GRACE)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    log.info("ended")
