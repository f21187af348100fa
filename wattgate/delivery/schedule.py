"""When something that could not be delivered is tried again, and when it is given up."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType

from wattgate.enums import DeliveryKind

MAX_RETRY_AFTER = timedelta(days=1)
"""For how long a receiver may ask to be left alone; a longer wish counts as this."""

_SECOND, _MINUTE, _HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Schedule:
    """The pauses between attempts, so that there is one attempt more than pauses.

    Each pause is made longer by up to `jitter` of itself, so that what failed at once is not tried again at once.
    """

    pauses: tuple[timedelta, ...]
    jitter: float = 0.1

    @property
    def max_attempts(self) -> int:
        return len(self.pauses) + 1

    def pause_after(
        self, attempt: int, random_fraction: float, retry_after_seconds: float | None = None
    ) -> timedelta | None:
        """How long to wait after an attempt that failed (counted from 1); None where it was the last one.

        `chance` is a random number from 0 to 1, `asked` the seconds that the receiver asks for.
        """
        if attempt >= self.max_attempts:
            return None
        planned = self.pauses[attempt - 1] * (1 + self.jitter * random_fraction)
        wished = timedelta(seconds=min(max(retry_after_seconds or 0.0, 0.0), MAX_RETRY_AFTER.total_seconds()))
        return max(planned, wished)


MAIL_SCHEDULE = Schedule((10 * _MINUTE, 40 * _MINUTE, *[150 * _MINUTE] * 43))
"""RFC 5321, 4.5.4.1: twice in the first hour, then every two to three hours, for four to five days."""

PUSH_SCHEDULE = Schedule(
    (5 * _SECOND, 30 * _SECOND, 2 * _MINUTE, 10 * _MINUTE, 30 * _MINUTE, _HOUR, 2 * _HOUR, 4 * _HOUR)
)
"""What a phone shows is of no use a day later: nine attempts in about eight hours."""

WEBHOOK_SCHEDULE = Schedule(
    (5 * _SECOND, 5 * _MINUTE, 30 * _MINUTE, 2 * _HOUR, 5 * _HOUR, 10 * _HOUR, 14 * _HOUR, 20 * _HOUR, 24 * _HOUR)
)
"""The schedule of Standard Webhooks: ten attempts in about 75 hours."""

TEST_MAIL_SCHEDULE = Schedule((10 * _SECOND, _MINUTE, 5 * _MINUTE))
"""Somebody waits for a test mail, and presses the button once more."""

SCHEDULES: Mapping[DeliveryKind, Schedule] = MappingProxyType(
    {
        DeliveryKind.EMAIL: MAIL_SCHEDULE,
        DeliveryKind.PUSH: PUSH_SCHEDULE,
        DeliveryKind.WEBHOOK: WEBHOOK_SCHEDULE,
        DeliveryKind.TEST_MAIL: TEST_MAIL_SCHEDULE,
    }
)
