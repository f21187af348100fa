"""When something that could not be delivered is tried again, and when it is given up."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType

from wattgate.enums import DeliveryKind

LONGEST_ASKED = timedelta(days=1)
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
    def attempts(self) -> int:
        return len(self.pauses) + 1

    def pause(self, attempt: int, chance: float, asked: float | None = None) -> timedelta | None:
        """How long to wait after an attempt that failed (counted from 1); None where it was the last one.

        `chance` is a random number from 0 to 1, `asked` the seconds that the receiver asks for.
        """
        if attempt >= self.attempts:
            return None
        planned = self.pauses[attempt - 1] * (1 + self.jitter * chance)
        wished = timedelta(seconds=min(max(asked or 0.0, 0.0), LONGEST_ASKED.total_seconds()))
        return max(planned, wished)


MAIL = Schedule((10 * _MINUTE, 40 * _MINUTE, *[150 * _MINUTE] * 43))
"""RFC 5321, 4.5.4.1: twice in the first hour, then every two to three hours, for four to five days."""

PUSH = Schedule((5 * _SECOND, 30 * _SECOND, 2 * _MINUTE, 10 * _MINUTE, 30 * _MINUTE, _HOUR, 2 * _HOUR, 4 * _HOUR))
"""What a phone shows is of no use a day later: nine attempts in about eight hours."""

WEBHOOK = Schedule(
    (5 * _SECOND, 5 * _MINUTE, 30 * _MINUTE, 2 * _HOUR, 5 * _HOUR, 10 * _HOUR, 14 * _HOUR, 20 * _HOUR, 24 * _HOUR)
)
"""The schedule of Standard Webhooks: ten attempts in about 75 hours."""

TEST = Schedule((10 * _SECOND, _MINUTE, 5 * _MINUTE))
"""Somebody waits for a test mail, and presses the button once more."""

SCHEDULES: Mapping[DeliveryKind, Schedule] = MappingProxyType(
    {
        DeliveryKind.EMAIL: MAIL,
        DeliveryKind.PUSH: PUSH,
        DeliveryKind.WEBHOOK: WEBHOOK,
        DeliveryKind.TEST_MAIL: TEST,
    }
)
