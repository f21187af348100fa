"""How an endpoint that receives webhooks is doing: when it is left alone, and when it is given up. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from wattgate.delivery.schedule import LONGEST_ASKED

FAILURES = 5
"""After how many failures in a row an endpoint is left alone for a while."""

SHORTEST = timedelta(minutes=1)
LONGEST = timedelta(hours=1)
"""For how long: the first at the first time, twice as long at each further failure, the second at most."""

THROTTLED = timedelta(minutes=1)
"""For how long an endpoint is left alone that says it cannot take more, and does not say for how long."""

PROBING = timedelta(seconds=30)
"""For how long the rest waits while one delivery tries whether an endpoint is back; an attempt takes 15 s at most."""

GIVEN_UP_AFTER = timedelta(days=5)
"""After how long without a single success an endpoint is disabled."""


@dataclass(frozen=True, slots=True)
class Health:
    """What is known of an endpoint: failures in a row, since when, and until when nothing is sent to it."""

    failures: int = 0
    failing_since: datetime | None = None
    paused_until: datetime | None = None


def waits_until(health: Health, now: datetime) -> datetime | None:
    """Until when a delivery has to wait; None where it may go now."""
    return health.paused_until if health.paused_until is not None and health.paused_until > now else None


def begun(health: Health, now: datetime) -> Health:
    """Health as an attempt begins: after a pause it is the probe, and the others wait for what becomes of it."""
    return health if health.paused_until is None else replace(health, paused_until=now + PROBING)


def failed(health: Health, now: datetime, *, throttled: bool, asked: float | None) -> Health:
    """Health after an attempt that failed. `asked` are the seconds for which the receiver asks to be left alone."""
    failures = health.failures + 1
    pause = timedelta(0)
    if failures >= FAILURES:
        pause = min(SHORTEST * 2 ** min(failures - FAILURES, 10), LONGEST)
    if throttled:
        pause = max(pause, THROTTLED if asked is None else min(timedelta(seconds=asked), LONGEST_ASKED))
    return Health(failures, health.failing_since or now, now + pause if pause else None)


def is_given_up(health: Health, now: datetime) -> bool:
    """Whether an endpoint has failed for so long that it is disabled."""
    return health.failing_since is not None and now - health.failing_since >= GIVEN_UP_AFTER
