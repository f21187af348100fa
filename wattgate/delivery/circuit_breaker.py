"""Circuit breaker of webhook endpoints: pauses after failures, and disables an endpoint. No I/O."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from wattgate.delivery.schedule import MAX_RETRY_AFTER

FAILURE_THRESHOLD = 5
"""Consecutive failures after which deliveries to an endpoint pause."""

MIN_PAUSE = timedelta(minutes=1)
MAX_PAUSE = timedelta(hours=1)
"""The first pause, and the longest. Each further failure doubles the pause."""

THROTTLE_PAUSE = timedelta(minutes=1)
"""The pause after a response that asks to slow down without Retry-After."""

PROBE_TIMEOUT = timedelta(seconds=30)
"""How long other deliveries wait while one delivery probes the endpoint. An attempt takes at most 15 seconds."""

DISABLE_AFTER = timedelta(days=5)
"""An endpoint is disabled after this time without a success."""


@dataclass(frozen=True, slots=True)
class EndpointHealth:
    """The state of an endpoint: consecutive failures, the time of the first one, and the end of the pause."""

    failures: int = 0
    failing_since: datetime | None = None
    paused_until: datetime | None = None


def open_until(health: EndpointHealth, now: datetime) -> datetime | None:
    """Return the end of the pause; None if a delivery may be attempted now."""
    return health.paused_until if health.paused_until is not None and health.paused_until > now else None


def on_attempt_started(health: EndpointHealth, now: datetime) -> EndpointHealth:
    """Return the health when an attempt starts. After a pause, it is a probe for which other deliveries wait."""
    return health if health.paused_until is None else replace(health, paused_until=now + PROBE_TIMEOUT)


def on_attempt_failed(
    health: EndpointHealth, now: datetime, *, throttled: bool, retry_after_seconds: float | None
) -> EndpointHealth:
    """Return the health after a failed attempt. `retry_after_seconds` is the pause that the receiver requests."""
    failures = health.failures + 1
    pause = timedelta(0)
    if failures >= FAILURE_THRESHOLD:
        pause = min(MIN_PAUSE * 2 ** min(failures - FAILURE_THRESHOLD, 10), MAX_PAUSE)
    if throttled:
        pause = max(
            pause,
            THROTTLE_PAUSE
            if retry_after_seconds is None
            else min(timedelta(seconds=retry_after_seconds), MAX_RETRY_AFTER),
        )
    return EndpointHealth(failures, health.failing_since or now, now + pause if pause else None)


def should_disable(health: EndpointHealth, now: datetime) -> bool:
    """Return whether an endpoint must be disabled, because it has failed for DISABLE_AFTER."""
    return health.failing_since is not None and now - health.failing_since >= DISABLE_AFTER
