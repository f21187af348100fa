"""Time inside the house: aware datetimes in UTC, and whole milliseconds since 1970 for stored instants."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import orjson

Clock = Callable[[], datetime]
"""Anything that answers the present instant, aware and in UTC."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ONE_MILLISECOND = timedelta(milliseconds=1)


@dataclass
class TimeRange:
    """A span of time: from start to before end, or to the present instant where that is None."""

    start: datetime
    end: datetime | None = None

    def __hash__(self) -> int:  # the arguments of edges are keys of their loaders
        return hash((self.start, self.end))


def utc_now() -> datetime:
    """The present instant, in UTC."""
    return datetime.now(UTC)


def to_ms(instant: datetime) -> int:
    """Whole milliseconds since 1970 of an aware datetime; what is below a millisecond is cut off."""
    return (instant - EPOCH) // ONE_MILLISECOND


def from_ms(ms: int) -> datetime:
    """The aware UTC datetime of whole milliseconds since 1970."""
    return EPOCH + timedelta(milliseconds=ms)


class Timestamp(str):
    """An instant in SPEC.md's form: ISO 8601 in UTC with milliseconds and Z, such as 2026-11-20T10:00:00.000Z."""

    __slots__ = ()


def format_iso(instant: datetime | Timestamp) -> str:
    """The SPEC.md timestamp of an instant, which may be one already."""
    if isinstance(instant, Timestamp):
        return instant
    if instant.tzinfo is not UTC:
        instant = instant.astimezone(UTC)
    text = orjson.dumps(instant).decode()  # in quotes; without a fraction where that is 0
    return f"{text[1:24]}Z" if instant.microsecond else f"{text[1:20]}.000Z"


def format_iso_ms(ms: int) -> str:
    """The same of milliseconds since 1970, for long columns: days and times of day come again and again."""
    day, time = divmod(ms, 86_400_000)
    return _format_day(day) + _format_time(time)


@lru_cache(maxsize=1024)
def _format_day(day: int) -> str:
    return format_iso(EPOCH + timedelta(days=day))[:11]


@lru_cache(maxsize=2048)
def _format_time(ms: int) -> str:
    return format_iso(EPOCH + timedelta(milliseconds=ms))[11:]
