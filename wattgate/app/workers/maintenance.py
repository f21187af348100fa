"""The maintenance worker: create partitions for future readings, and delete data whose retention has ended."""

from dataclasses import dataclass
from datetime import timedelta

from wattgate.app.workers.background import run_forever
from wattgate.operations.accounts import account_purges
from wattgate.operations.consent import access_log
from wattgate.operations.core.runner import Runner
from wattgate.operations.homes import home_members, paired_displays
from wattgate.operations.messages import deliveries
from wattgate.operations.readings import retention
from wattgate.operations.webhooks import webhooks
from wattgate.principal import Principal, Role

INTERVAL_SECONDS = 3600.0
"""Seconds between two iterations."""

ERROR_PAUSE_SECONDS = 60.0

OUTBOX_PURGES = (
    (webhooks.applications_with_old_events, webhooks.purge_events),
    (webhooks.applications_with_old_webhooks, webhooks.purge_webhooks),
    (deliveries.applications_with_old_deliveries, deliveries.purge_deliveries),
)
"""Pairs of operations: one finds the applications with old records of a kind, and one deletes a batch of them."""


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long registrations can be verified, and how long entries of the access log are kept."""

    unverified: timedelta = timedelta(days=7)
    access_log: timedelta = timedelta(days=730)


DEFAULT_LIFETIMES = Lifetimes()


async def run_maintenance(runner: Runner, lifetimes: Lifetimes = DEFAULT_LIFETIMES) -> None:
    """Run maintenance until cancelled."""
    await run_forever(
        "maintenance",
        lambda: maintain_once(runner, lifetimes),
        pause=INTERVAL_SECONDS,
        pause_after_error=ERROR_PAUSE_SECONDS,
    )


async def maintain_once(runner: Runner, lifetimes: Lifetimes = DEFAULT_LIFETIMES) -> None:
    """Run maintenance once for all applications."""
    system = Principal(Role.SYSTEM)
    for application_id in await runner.run(retention.applications_with_retention, system, {}):
        tenant = Principal(Role.SYSTEM, application_id=application_id)
        while await runner.run(retention.purge_readings, tenant, {}):
            pass
    for find_old, purge in OUTBOX_PURGES:
        for application_id in await runner.run(find_old, system, {}):
            tenant = Principal(Role.SYSTEM, application_id=application_id)
            while await runner.run(purge, tenant, {}):
                pass
    for application_id in await runner.run(retention.applications_with_login_failures, system, {}):
        await runner.run(retention.purge_login_failures, Principal(Role.SYSTEM, application_id=application_id), {})
    for application_id in await runner.run(paired_displays.applications_with_old_pairings, system, {}):
        await runner.run(paired_displays.purge_pairings, Principal(Role.SYSTEM, application_id=application_id), {})
    for application_id in await runner.run(home_members.applications_with_old_members, system, {}):
        await runner.run(home_members.purge_members, Principal(Role.SYSTEM, application_id=application_id), {})
    await _purge_accounts(runner, lifetimes.unverified)
    oldest = {"before": runner.now() - lifetimes.access_log}
    for application_id in await runner.run(access_log.applications_with_old_accesses, system, oldest):
        await runner.run(access_log.purge_accesses, Principal(Role.SYSTEM, application_id=application_id), oldest)
    await runner.run(retention.run_maintenance, system, {})


async def _purge_accounts(runner: Runner, unverified_lifetime: timedelta) -> None:
    """Delete registrations that were not verified in time, and old mails of the gateway itself, in batches."""
    system, older = Principal(Role.SYSTEM), {"older_than": unverified_lifetime}
    for application_id in await runner.run(account_purges.applications_with_unverified_accounts, system, older):
        tenant = Principal(Role.SYSTEM, application_id=application_id)
        while await runner.run(account_purges.purge_unverified_accounts, tenant, older):
            pass
    for application_id in await runner.run(account_purges.applications_with_old_account_mails, system, {}):
        tenant = Principal(Role.SYSTEM, application_id=application_id)
        while await runner.run(account_purges.purge_account_mails, tenant, {}):
            pass
