"""The worker that retrieves readings from the meter network for the catch-ups that are asked for."""

from wattgate.app.workers.background import Bell, go_round
from wattgate.db.models import CatchUp
from wattgate.enums import CatchUpState
from wattgate.errors import GatewayError
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers import catch_ups
from wattgate.graphql.resolvers.recording import record_readings
from wattgate.principal import Principal, Role
from wattgate.realtime import topics
from wattgate.realtime.hub import Hub

LONGEST_REST = 5.0
"""Seconds until retrievals are looked for of which nothing was told: those of workers that have died."""

PAUSE_AFTER_TROUBLE = 5.0


async def run_catch_ups(runner: Runner, hub: Hub) -> None:
    """Work on catch-ups for as long as the gateway runs."""
    bell = Bell(hub, topics.queued_catch_ups())
    with bell.listening():
        await go_round("catch-ups", lambda: _work(runner, bell), pause=0.0, pause_after_trouble=PAUSE_AFTER_TROUBLE)


async def _work(runner: Runner, bell: Bell) -> None:
    """Do what waits until nothing does, and rest."""
    await bell.open()
    bell.silence()
    while await work_once(runner):
        pass
    await bell.rung(LONGEST_REST)


async def work_once(runner: Runner) -> bool:
    """Do one waiting catch-up of each application; whether there were any."""
    busy = False
    for application_id in await runner.run(catch_ups.applications_catching_up, Principal(Role.SYSTEM), {}):
        system = Principal(Role.SYSTEM, application_id=application_id)
        claimed = await runner.run(catch_ups.claim_catch_up, system, {})
        if claimed is not None:
            busy = True
            await _retrieve(runner, system, claimed)
    return busy


async def _retrieve(runner: Runner, system: Principal, claimed: CatchUp) -> None:
    """Record what the network has, page by page, and say how it ended."""
    recorded = 0

    async def move(state: CatchUpState, reason: str | None = None) -> None:
        told = {"catch_up_id": claimed.catch_up_id, "state": state, "recorded": recorded, "reason": reason}
        await runner.run(catch_ups.move_catch_up, system, told)

    try:
        while page := await runner.run(catch_ups.network_readings, system, {"resource_id": claimed.resource_id}):
            recorded += (await runner.run(record_readings, system, {"series": [page]})).recorded
            await move(CatchUpState.RUNNING)
    except GatewayError as error:
        await move(CatchUpState.FAILED, _reason(error))
    except Exception:
        await move(CatchUpState.FAILED, "an unexpected error has occurred")
        raise
    else:
        await move(CatchUpState.DONE)


def _reason(error: GatewayError) -> str:
    """Why the network's readings could not be had or recorded; of many problems the first."""
    return error.problems[0].message if error.problems else error.message
