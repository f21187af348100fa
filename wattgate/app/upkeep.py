"""The worker that looks after stored readings: room for months to come, and an end of those kept long enough."""

import asyncio
import logging

from wattgate.errors import GatewayError
from wattgate.graphql.resolvers import retention
from wattgate.graphql.runner import Runner
from wattgate.principal import Principal, Role

log = logging.getLogger(__name__)

PAUSE = 3600.0
"""Seconds between two rounds."""

PAUSE_AFTER_TROUBLE = 60.0


async def run_upkeep(runner: Runner) -> None:
    """Go round for as long as the gateway runs. Whatever goes wrong is logged, and the next round comes."""
    while True:
        pause = PAUSE
        try:
            await upkeep(runner)
        except GatewayError as error:
            log.warning("the upkeep of readings has to wait: %s", error.message)
            pause = PAUSE_AFTER_TROUBLE
        except Exception:  # the supervisor: one fault must not end the work for good
            log.exception("the upkeep of readings ended by a fault")
        await asyncio.sleep(pause)


async def upkeep(runner: Runner) -> None:
    """One round over all applications."""
    system = Principal(Role.SYSTEM)
    for application_id in await runner.run(retention.applications_with_retention, system, {}):
        of_application = Principal(Role.SYSTEM, application_id=application_id)
        while await runner.run(retention.forget_readings, of_application, {}):
            pass
    await runner.run(retention.keep_house, system, {})
