"""The worker that looks after what is stored: room for readings to come, and an end of what was kept long enough."""

from wattgate.app.workers.background import go_round
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers import retention, webhooks
from wattgate.principal import Principal, Role

PAUSE = 3600.0
"""Seconds between two rounds."""

PAUSE_AFTER_TROUBLE = 60.0


async def run_upkeep(runner: Runner) -> None:
    """Go round for as long as the gateway runs."""
    await go_round(
        "the upkeep of what is stored", lambda: upkeep(runner), pause=PAUSE, pause_after_trouble=PAUSE_AFTER_TROUBLE
    )


async def upkeep(runner: Runner) -> None:
    """One round over all applications."""
    system = Principal(Role.SYSTEM)
    for application_id in await runner.run(retention.applications_with_retention, system, {}):
        of_application = Principal(Role.SYSTEM, application_id=application_id)
        while await runner.run(retention.forget_readings, of_application, {}):
            pass
    for application_id in await runner.run(webhooks.applications_with_old_events, system, {}):
        await runner.run(webhooks.forget_events, Principal(Role.SYSTEM, application_id=application_id), {})
    await runner.run(retention.keep_house, system, {})
