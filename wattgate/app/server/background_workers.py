"""The workers that run inside a gateway process, by its settings."""

from asyncio import to_thread
from collections.abc import Awaitable, Callable
from importlib import import_module

from wattgate.access_log import AccessLog
from wattgate.app.erasure_list import open_erasure_list
from wattgate.app.settings import Settings
from wattgate.app.workers.access_log import run_access_log
from wattgate.app.workers.alert_rules import AlertRuleWorker
from wattgate.app.workers.catch_ups import run_catch_ups
from wattgate.app.workers.deliveries import DeliveryWorker
from wattgate.app.workers.delivery_handlers import create_delivery_handlers
from wattgate.app.workers.maintenance import Lifetimes, run_maintenance
from wattgate.app.workers.user_jobs import JobPolicy, run_user_jobs
from wattgate.clock import Clock
from wattgate.operations.core.runner import Runner
from wattgate.realtime.hub import Hub

BackgroundTask = Callable[[Runner], Awaitable[None]]
"""Background work that runs until the gateway shuts down."""


def background_workers(settings: Settings, hub: Hub, clock: Clock, access_log: AccessLog) -> list[BackgroundTask]:
    """Return the maintenance, the access log, and the workers that events of the bus or an MQTT broker wake.

    These are catch-ups, erasures and exports, alert rules, deliveries if they are enabled, and the MQTT intake if a
    broker is configured.
    """
    policy = job_policy(settings)
    return [
        lambda runner: run_maintenance(runner, Lifetimes(settings.unverified_lifetime, settings.access_log_lifetime)),
        lambda runner: run_access_log(runner, access_log),
        *_mqtt_intakes(settings),
        lambda runner: run_catch_ups(runner, hub),
        lambda runner: run_user_jobs(runner, hub, policy, clock),
        lambda runner: AlertRuleWorker(runner, hub).run(),
        *_delivery_workers(settings, hub, clock),
    ]


def job_policy(settings: Settings) -> JobPolicy:
    """Return for how long records are kept, and the list of erasures, by the settings."""
    return JobPolicy(settings.kept_billing_days, settings.export_lifetime_hours, open_erasure_list(settings))


def _mqtt_intakes(settings: Settings) -> list[BackgroundTask]:
    """Return the MQTT intake if a broker is configured. Import it only then, because it needs the extra `mqtt`."""
    if settings.mqtt_url is None:
        return []
    return [import_module("wattgate.app.workers.mqtt_intake").create_intake(settings).run]


def _delivery_workers(settings: Settings, hub: Hub, clock: Clock) -> list[BackgroundTask]:
    """Return the delivery worker, unless WATTGATE_DELIVER is false."""
    if not settings.deliver:
        return []

    async def deliver(runner: Runner) -> None:
        handlers = await to_thread(create_delivery_handlers, settings, runner, clock)
        worker = DeliveryWorker(runner, hub, handlers, clock=clock, lease=settings.delivery_lease)
        await worker.run()

    return [deliver]
