"""The maintenance worker: create partitions for future readings, and delete data whose retention has ended."""

from datetime import timedelta

from wattgate.app.workers.background import run_forever
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers import access_log, retention, webhooks
from wattgate.principal import Principal, Role

INTERVAL_SECONDS = 3600.0
"""Seconds between two iterations."""

ERROR_PAUSE_SECONDS = 60.0


DEFAULT_ACCESS_LOG_DAYS = 730
"""Days for which entries of the access log are kept."""


async def run_maintenance(runner: Runner, access_log_days: int = DEFAULT_ACCESS_LOG_DAYS) -> None:
    """Run maintenance until cancelled."""
    await run_forever(
        "maintenance",
        lambda: maintain_once(runner, access_log_days),
        pause=INTERVAL_SECONDS,
        pause_after_error=ERROR_PAUSE_SECONDS,
    )


async def maintain_once(runner: Runner, access_log_days: int = DEFAULT_ACCESS_LOG_DAYS) -> None:
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
    oldest = {"before": runner.now() - timedelta(days=access_log_days)}
    for application_id in await runner.run(access_log.applications_with_old_accesses, system, oldest):
        await runner.run(access_log.purge_accesses, Principal(Role.SYSTEM, application_id=application_id), oldest)
    await runner.run(retention.run_maintenance, system, {})
