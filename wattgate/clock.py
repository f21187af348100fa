"""Instants: aware datetimes in UTC, stored as milliseconds since 1970, their text form, and offsets of clocks."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated

import orjson

from wattgate.values.annotations import Described

Clock = Callable[[], datetime]
"""A function that returns the present instant, aware and in UTC."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ONE_MILLISECOND = timedelta(milliseconds=1)


@dataclass
class TimeRange:
    """The time [start, end). If `end` is None, it ends at the present instant."""

    start: Annotated[datetime, Described("Start of the range, inclusive.")]
    end: Annotated[datetime, Described("End of the range, exclusive. Default: now.")] | None = None

    def __hash__(self) -> int:  # the loader of an edge is keyed by the arguments of the edge
        return hash((self.start, self.end))


def utc_now() -> datetime:
    """Return the present instant in UTC."""
    return datetime.now(UTC)


def has_passed(span: timedelta, since: datetime, now: datetime) -> bool:
    """Return whether a span has passed, or the clock was set back meanwhile, so that nobody knows."""
    return not timedelta(0) <= now - since < span


def to_ms(instant: datetime) -> int:
    """Return the milliseconds since 1970 of an aware datetime, rounded down."""
    return (instant - EPOCH) // ONE_MILLISECOND


def from_ms(ms: int) -> datetime:
    """Return the aware UTC datetime of milliseconds since 1970."""
    return EPOCH + timedelta(milliseconds=ms)


class Timestamp(str):
    """An instant in SPEC.md's form: ISO 8601 in UTC with milliseconds and Z, such as 2026-11-20T10:00:00.000Z."""

    __slots__ = ()


def format_iso(instant: datetime | Timestamp) -> str:
    """Return an instant in SPEC.md's form. A Timestamp is returned unchanged."""
    if isinstance(instant, Timestamp):
        return instant
    if instant.tzinfo is not UTC:
        instant = instant.astimezone(UTC)
    text = orjson.dumps(instant).decode()  # in quotes; without a fraction if it is 0
    return f"{text[1:24]}Z" if instant.microsecond else f"{text[1:20]}.000Z"


def format_iso_ms(ms: int) -> str:
    """Return milliseconds since 1970 in SPEC.md's form.

    Days and times of day are cached, because they repeat in long columns.
    """
    day, time = divmod(ms, 86_400_000)
    return _format_day(day) + _format_time(time)


@lru_cache(maxsize=1024)
def _format_day(day: int) -> str:
    return format_iso(EPOCH + timedelta(days=day))[:11]


@lru_cache(maxsize=2048)
def _format_time(ms: int) -> str:
    return format_iso(EPOCH + timedelta(milliseconds=ms))[11:]


WARNING_SECONDS, ERROR_SECONDS = 1.0, 30.0
"""Differences from which tokens and leases end at the wrong time, and from which workers send messages twice."""

REMEDY = "synchronize the clocks of both machines by NTP, for example by chrony"


def describe_clock_offset(seconds: float) -> str | None:
    """Return what is wrong and what to do, or None if the clocks agree.

    `seconds` says how far the clock of the server is ahead of the clock of this machine.
    """
    return f"differ by {abs(seconds):.1f} seconds: {REMEDY}" if abs(seconds) >= WARNING_SECONDS else None
