"""Local times of a time zone: which instants each one may mean, and the days on which local times repeat."""

from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import NamedTuple

from wattgate.clock import EPOCH, ONE_MILLISECOND, to_ms

_LOCAL_EPOCH = EPOCH.replace(tzinfo=None)
_DAY = timedelta(days=1)
_STEP = timedelta(hours=3)
"""Clocks of a zone change at most once in this time."""

_CACHED_DAYS = 1024


class LocalDay(NamedTuple):
    """The clock changes of a day.

    `offset_ms` is the UTC offset if it is the same all day, else None. `night` identifies the hour that occurs twice,
    if one begins or ends on the day: it is the instant (ms since 1970) at which the clocks go back, else None.
    """

    offset_ms: int | None
    night: int | None


def local_ms(local: datetime) -> int:
    """Return a local time (without a zone) as milliseconds since 1970 on the clock on the wall."""
    return (local - _LOCAL_EPOCH) // ONE_MILLISECOND


class LocalTimes:
    """The local times of one zone. Its methods raise OverflowError for times outside the range of datetime."""

    def __init__(self, zone: tzinfo) -> None:
        self.zone = zone
        self.day = lru_cache(maxsize=_CACHED_DAYS)(self._describe_day)

    def instants(self, local: datetime) -> tuple[int, ...]:
        """Return the instants (ms since 1970) that a local time may mean, in order.

        They are one, two if the clocks go back over the local time, and none if they go forward over it.
        """
        offset_ms = self.day(local.date()).offset_ms
        if offset_ms is not None:
            return (local_ms(local) - offset_ms,)
        first, second = (local.replace(tzinfo=self.zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        if first.astimezone(self.zone).replace(tzinfo=None) != local:
            return ()
        return (to_ms(first),) if first == second else (to_ms(first), to_ms(second))

    def _describe_day(self, day: date) -> LocalDay:
        midnight = datetime.combine(day, datetime.min.time())
        # a repeated hour may begin on one day and end on the next
        start, stop = ((midnight + days * _DAY).replace(tzinfo=self.zone).astimezone(UTC) for days in (-1, 2))
        offset, night, at = self._offset(start), None, start
        changes = False
        while at < stop:
            offset_before, offset = offset, self._offset(at + _STEP)
            if offset != offset_before:
                changes = True
                instant = self._find_change(at, at + _STEP)
                first, last = instant + offset, instant + offset_before - ONE_MILLISECOND
                if offset < offset_before and first.date() <= day <= last.date():
                    night = to_ms(instant)
            at += _STEP
        return LocalDay(None if changes else offset // ONE_MILLISECOND, night)

    def _find_change(self, before: datetime, after: datetime) -> datetime:
        """Return the first second with the offset of `after`. The offset changes once in between."""
        offset = self._offset(before)
        while after - before > timedelta(seconds=1):
            middle = before + (after - before) // timedelta(seconds=2) * timedelta(seconds=1)
            before, after = (middle, after) if self._offset(middle) == offset else (before, middle)
        return after

    def _offset(self, instant: datetime) -> timedelta:
        offset = instant.astimezone(self.zone).utcoffset()
        assert offset is not None  # an aware datetime has an offset
        return offset
