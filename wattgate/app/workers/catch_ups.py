"""The worker that retrieves readings from the meter network for requested catch-ups."""

from wattgate.app.workers.background import WakeSignal, run_forever
from wattgate.db.models import CatchUp
from wattgate.enums import CatchUpState
from wattgate.errors import GatewayError
from wattgate.operations.core.runner import Runner
from wattgate.operations.devices import catch_ups
from wattgate.operations.readings.recording import record_readings
from wattgate.principal import Principal, Role
from wattgate.realtime import topics
from wattgate.realtime.hub import Hub

MAX_IDLE_SECONDS = 5.0
"""Maximum seconds between two searches for catch-ups. Catch-ups of a worker that died have no event."""

ERROR_PAUSE_SECONDS = 5.0


async def run_catch_ups(runner: Runner, hub: Hub) -> None:
    """Process catch-ups until cancelled."""
    wake_signal = WakeSignal(hub, topics.queued_catch_ups())
    with wake_signal.subscribed():
        await run_forever(
            "catch-ups", lambda: _run_iteration(runner, wake_signal), pause=0.0, pause_after_error=ERROR_PAUSE_SECONDS
        )


async def _run_iteration(runner: Runner, wake_signal: WakeSignal) -> None:
    """Process all waiting catch-ups, then wait for the next event."""
    await wake_signal.wait_subscribed()
    wake_signal.clear()
    while await process_waiting(runner):
        pass
    await wake_signal.wait(MAX_IDLE_SECONDS)


async def process_waiting(runner: Runner) -> bool:
    """Process one waiting catch-up of each application. Return whether there were any."""
    processed = False
    for application_id in await runner.run(catch_ups.applications_with_catch_ups, Principal(Role.SYSTEM), {}):
        system = Principal(Role.SYSTEM, application_id=application_id)
        catch_up = await runner.run(catch_ups.claim_catch_up, system, {})
        if catch_up is not None:
            processed = True
            await _retrieve(runner, system, catch_up)
    return processed


async def _retrieve(runner: Runner, system: Principal, catch_up: CatchUp) -> None:
    """Record the readings of the meter network page by page, and update the state of the catch-up."""
    recorded = 0

    async def update_state(state: CatchUpState, reason: str | None = None) -> None:
        arguments = {"catch_up_id": catch_up.catch_up_id, "state": state, "recorded": recorded, "reason": reason}
        await runner.run(catch_ups.update_catch_up, system, arguments)

    try:
        while page := await runner.run(catch_ups.network_readings, system, {"resource_id": catch_up.resource_id}):
            recorded += (await runner.run(record_readings, system, {"series": [page]})).recorded
            await update_state(CatchUpState.RUNNING)
    except GatewayError as error:
        await update_state(CatchUpState.FAILED, _failure_reason(error))
    except Exception:
        await update_state(CatchUpState.FAILED, "an unexpected error has occurred")
        raise
    else:
        await update_state(CatchUpState.DONE)


def _failure_reason(error: GatewayError) -> str:
    """Return the message of the first problem of an error, or of the error itself."""
    return error.problems[0].message if error.problems else error.message
