"""Retry schedules of deliveries."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType

from wattgate.enums import DeliveryKind

MAX_RETRY_AFTER = timedelta(days=1)
"""The longest pause that a receiver may request with Retry-After. A longer one is reduced to it."""

_SECOND, _MINUTE, _HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Schedule:
    """The pauses between attempts. There is one attempt more than there are pauses.

    Each pause is extended by a random part of up to `jitter` times its length. So deliveries that failed at the same
    time are not retried at the same time.
    """

    pauses: tuple[timedelta, ...]
    jitter: float = 0.1

    @property
    def max_attempts(self) -> int:
        return len(self.pauses) + 1

    def pause_after(
        self, attempt: int, random_fraction: float, retry_after_seconds: float | None = None
    ) -> timedelta | None:
        """Return the pause after a failed attempt (counted from 1); None after the last attempt.

        `random_fraction` is a random number from 0 to 1. `retry_after_seconds` is the pause that the receiver requests.
        The longer of the two pauses applies.
        """
        if attempt >= self.max_attempts:
            return None
        planned = self.pauses[attempt - 1] * (1 + self.jitter * random_fraction)
        requested = timedelta(seconds=min(max(retry_after_seconds or 0.0, 0.0), MAX_RETRY_AFTER.total_seconds()))
        return max(planned, requested)


MAIL_SCHEDULE = Schedule((10 * _MINUTE, 40 * _MINUTE, *[150 * _MINUTE] * 43))
"""As in RFC 5321, 4.5.4.1: two attempts in the first hour, then one every two to three hours, for four to five days."""

PUSH_SCHEDULE = Schedule(
    (5 * _SECOND, 30 * _SECOND, 2 * _MINUTE, 10 * _MINUTE, 30 * _MINUTE, _HOUR, 2 * _HOUR, 4 * _HOUR)
)
"""Nine attempts in about eight hours. A push notification is useless a day later."""

WEBHOOK_SCHEDULE = Schedule(
    (5 * _SECOND, 5 * _MINUTE, 30 * _MINUTE, 2 * _HOUR, 5 * _HOUR, 10 * _HOUR, 14 * _HOUR, 20 * _HOUR, 24 * _HOUR)
)
"""The schedule of Standard Webhooks: ten attempts in about 75 hours."""

TEST_MAIL_SCHEDULE = Schedule((10 * _SECOND, _MINUTE, 5 * _MINUTE))
"""Four attempts in about six minutes. The user is waiting, and can request another test mail."""

ACCOUNT_MAIL_SCHEDULE = Schedule((_MINUTE, 10 * _MINUTE, _HOUR, 4 * _HOUR, 12 * _HOUR))
"""Six attempts in about 17 hours. The code in the mail is valid for a day."""

SCHEDULES: Mapping[DeliveryKind, Schedule] = MappingProxyType(
    {
        DeliveryKind.EMAIL: MAIL_SCHEDULE,
        DeliveryKind.PUSH: PUSH_SCHEDULE,
        DeliveryKind.WEBHOOK: WEBHOOK_SCHEDULE,
        DeliveryKind.TEST_MAIL: TEST_MAIL_SCHEDULE,
        DeliveryKind.ACCOUNT_MAIL: ACCOUNT_MAIL_SCHEDULE,
    }
)
