"""The worker that stores the access log: the reads that the process has counted since the last time."""

import asyncio
import logging
from collections import defaultdict

from wattgate.access_log import AccessLog, Counters
from wattgate.app.workers.background import run_forever
from wattgate.operations.consent import access_log as operations
from wattgate.operations.consent.access_log import StoredRead
from wattgate.operations.core.runner import Runner
from wattgate.principal import Principal, Role

log = logging.getLogger(__name__)

FLUSH_SECONDS = 10.0
"""Maximum seconds between a read and its entry in the access log."""

ERROR_PAUSE_SECONDS = 30.0

SHUTDOWN_SECONDS = 5.0
"""Maximum seconds for which the shutdown waits for the last entries."""


async def run_access_log(runner: Runner, access_log: AccessLog) -> None:
    """Store the counted reads until cancelled."""

    async def work() -> None:
        await access_log.wait_until_due(FLUSH_SECONDS)
        await flush_access_log(runner, access_log)

    await run_forever("access log", work, pause=0, pause_after_error=ERROR_PAUSE_SECONDS)


async def flush_access_log(runner: Runner, access_log: AccessLog) -> None:
    """Store the counted reads, in one transaction for each application. Keep those that cannot be stored."""
    by_application = defaultdict[str, Counters](dict)
    for (reader, data), counter in access_log.take().items():
        by_application[reader.application_id][reader, data] = counter
    pending = dict(by_application)
    try:
        for application_id, counters in by_application.items():
            reads: list[StoredRead] = [(reader, data, counter) for (reader, data), counter in counters.items()]
            system = Principal(Role.SYSTEM, application_id=application_id)
            await runner.run(operations.store_accesses, system, {"reads": reads})
            del pending[application_id]
    finally:
        for counters in pending.values():
            access_log.restore(counters)


async def store_last_accesses(runner: Runner, access_log: AccessLog) -> None:
    """Store the reads that are left at shutdown. Log their number if that fails."""
    try:
        async with asyncio.timeout(SHUTDOWN_SECONDS):
            await flush_access_log(runner, access_log)
    except Exception:  # the shutdown must go on
        log.exception("Access log: %d counted reads could not be stored at shutdown", len(access_log))
