"""The worker that looks after stored readings: room for months to come, and an end of those kept long enough."""

from wattgate.app.rounds import go_round
from wattgate.graphql.resolvers import retention
from wattgate.graphql.runner import Runner
from wattgate.principal import Principal, Role

PAUSE = 3600.0
"""Seconds between two rounds."""

PAUSE_AFTER_TROUBLE = 60.0


async def run_upkeep(runner: Runner) -> None:
    """Go round for as long as the gateway runs."""
    await go_round(
        "the upkeep of readings", lambda: upkeep(runner), pause=PAUSE, pause_after_trouble=PAUSE_AFTER_TROUBLE
    )


async def upkeep(runner: Runner) -> None:
    """One round over all applications."""
    system = Principal(Role.SYSTEM)
    for application_id in await runner.run(retention.applications_with_retention, system, {}):
        of_application = Principal(Role.SYSTEM, application_id=application_id)
        while await runner.run(retention.forget_readings, of_application, {}):
            pass
    await runner.run(retention.keep_house, system, {})
