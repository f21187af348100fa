"""The maintenance worker: create partitions for future readings, and delete data whose retention has ended."""

from wattgate.app.workers.background import run_forever
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers import retention, webhooks
from wattgate.principal import Principal, Role

INTERVAL_SECONDS = 3600.0
"""Seconds between two iterations."""

ERROR_PAUSE_SECONDS = 60.0


async def run_maintenance(runner: Runner) -> None:
    """Run maintenance until cancelled."""
    await run_forever(
        "maintenance",
        lambda: maintain_once(runner),
        pause=INTERVAL_SECONDS,
        pause_after_error=ERROR_PAUSE_SECONDS,
    )


async def maintain_once(runner: Runner) -> None:
    """Run maintenance once for all applications."""
    system = Principal(Role.SYSTEM)
    for application_id in await runner.run(retention.applications_with_retention, system, {}):
        tenant = Principal(Role.SYSTEM, application_id=application_id)
        while await runner.run(retention.purge_readings, tenant, {}):
            pass
    for application_id in await runner.run(webhooks.applications_with_old_events, system, {}):
        await runner.run(webhooks.purge_events, Principal(Role.SYSTEM, application_id=application_id), {})
    for application_id in await runner.run(retention.applications_with_login_failures, system, {}):
        await runner.run(retention.purge_login_failures, Principal(Role.SYSTEM, application_id=application_id), {})
    await runner.run(retention.run_maintenance, system, {})
